"""The files of a tree that are worth parsing, by a first rank that costs nothing but their names.

Of a large tree only some files are parsed. Which ones is decided by counts and sizes alone, so that the same question
about the same tree always has the same answer.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from math import log, log2
from typing import NamedTuple

from orchestrator.codemap.focus import Focus, split_words
from orchestrator.codemap.languages import LANGUAGE_BY_SUFFIX
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.judge.files.changed_file import is_test_path

MAX_SOURCE_BYTES = 256 * 1024
MAX_PARSED_FILES = 1_500
MAX_PARSED_BYTES = 9 * 1024 * 1024
_FOREIGN = compile_lazily(
    r"(?:^|/)(?:node_modules|vendor|vendored|third_party|thirdparty|external|bower_components|site-packages|dist|"
    r"build|target|out|\.[^/]+|__pycache__|__snapshots__|testdata|fixtures)/"
    r"|(?:[._-]min|[._-]bundle|_pb2|_pb2_grpc|\.pb|\.generated|_generated|\.g|\.d)\.[a-z+]+$"
)
"""Places and names of what others wrote, what programs made, and what only stands for the real thing."""
_ENTRY_NAMES = "__main__ main app application index cli server lib mod api core program setup manage"
_ENTRIES = frozenset(_ENTRY_NAMES.split())
_ASIDE = compile_lazily(r"(?:^|/)(?:docs?|examples?|samples?|demos?|bench(?:marks?)?|scripts|tools|migrations)/")
_FILE_MODES = frozenset(("100644", "100755"))
_NAMED_SCORE = 12.0
_WORD_SCORE = 4.0
_HOT_SCORE = 0.8


class TreeFile(NamedTuple):
    """A file of a tree that a grammar can read."""

    path: str
    oid: str
    size: int
    language: str


class ChosenFiles(NamedTuple):
    """The files that are parsed, best first, each with its first rank; `readable` counts those that could be."""

    files: tuple[TreeFile, ...]
    scores: Mapping[str, float]
    readable: int


def find_language(path: str) -> str | None:
    """Return the language of a source that somebody wrote for this repository; None for every other file."""
    name = path.rpartition("/")[2]
    stem, dot, suffix = name.rpartition(".")
    if not dot or not stem:
        return None
    language = LANGUAGE_BY_SUFFIX.get(dot + suffix)
    if language is None or _FOREIGN.search(path):
        return None
    return language


def is_parsable(mode: str, size: int | None) -> bool:
    """Return True for a plain file, which is no link and no submodule, of a size that is parsed."""
    return mode in _FILE_MODES and size is not None and 0 < size <= MAX_SOURCE_BYTES


def choose_files(files: Sequence[TreeFile], focus: Focus, commits: Mapping[str, int]) -> ChosenFiles:
    """Return the files to parse; `commits` tells how often each path changed lately."""
    weights = _weigh_words(files, focus)
    ranked = []
    for file in files:
        ranked.append((-_rank_file(file, focus, weights, commits), file.path, file))
    ranked.sort()
    chosen, scores, left_bytes = list[TreeFile](), dict[str, float](), MAX_PARSED_BYTES
    for score, path, file in ranked:
        if len(chosen) == MAX_PARSED_FILES:
            break
        if file.size <= left_bytes:
            left_bytes -= file.size
            chosen.append(file)
            scores[path] = -score
    return ChosenFiles(tuple(chosen), scores, len(files))


def _weigh_words(files: Sequence[TreeFile], focus: Focus) -> Mapping[str, float]:
    """Return what each word of the focus is worth in a path: little for one that is in many of them."""
    if not focus.pattern:
        return {}
    counts: Counter[str] = Counter()
    find_words = re.compile(focus.pattern, re.IGNORECASE).findall
    for file in files:
        counts.update(set(map(str.lower, find_words(file.path))))
    total = log(len(files) + 2)
    weights = {}
    for word, count in counts.items():
        weights[word] = 1 - log(count + 1) / total
    return weights


def _rank_file(file: TreeFile, focus: Focus, weights: Mapping[str, float], commits: Mapping[str, int]) -> float:
    path = file.path
    folder, _, name = path.rpartition("/")
    score = 1 / (1 + 0.3 * path.count("/"))
    if name.partition(".")[0] in _ENTRIES:
        score += 0.5
    if path in commits:
        score += _HOT_SCORE * log2(1 + commits[path])
    if is_test_path(path):
        score *= 0.5
    elif _ASIDE.search(path):
        score *= 0.6
    if path in focus.names or name in focus.names:
        score += _NAMED_SCORE
    elif folder in focus.names:
        score += _NAMED_SCORE / 2
    if weights:
        lowered = path.lower()
        for word, weight in weights.items():
            if word in lowered and word in split_words(path):
                score += _WORD_SCORE * weight
    return score
