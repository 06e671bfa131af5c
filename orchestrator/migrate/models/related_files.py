"""Other files that tell a model most about one: by where they lie, what they import, what sites they have."""

import re
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from orchestrator.domain.migration.files import FileRecord, FileStatus
from orchestrator.domain.text.lazy_pattern import compile_lazily

_IMPORTS = compile_lazily(
    r"""^[ \t]*(?:
        .*?(?:\brequire\(|\bimport\(|\bfrom|\bimport)[ \t]*['"](?P<path>[^'"]+)['"]
      | from[ \t]+(?P<source>[\w.]+)[ \t]+import[ \t]+(?P<names>[\w, \t]+)
      | import[ \t]+(?P<modules>[\w., \t]+)
    )""",
    re.VERBOSE | re.MULTILINE,
)
_WORD = compile_lazily(r"[\w-]+")


def choose_siblings(path: str, text: str, others: Iterable[str], most: int) -> list[str]:
    """Return the files that help most to understand one.

    Those it imports first, then those of its kind that lie nearest.

    Args:
        path: the file.
        text: its content.
        others: the paths that there are.
        most: how many are wanted.
    """
    named, suffix = parse_imported_names(text), PurePosixPath(path).suffix
    ranked = []
    for other in others:
        if other != path and PurePosixPath(other).suffix == suffix:
            ranked.append((PurePosixPath(other).stem not in named, measure_distance(path, other), other))
    return [other for _, _, other in sorted(ranked)[:most]]


def parse_imported_names(text: str) -> frozenset[str]:
    """Return the last names of what a source file in Python or JavaScript imports."""
    found: set[str] = set()
    for match in _IMPORTS.finditer(text):
        for part in filter(None, match.groups()):
            found.update(_WORD.findall(part))
    return frozenset(found - {"as", "import", "js", "ts", "mjs", "cjs"})


def measure_distance(one: str, other: str) -> int:
    """Return how many steps through directories lie between two files; 0 in the same directory."""
    here, there = PurePosixPath(one).parts[:-1], PurePosixPath(other).parts[:-1]
    shared = 0
    for left, right in zip(here, there, strict=False):
        if left != right:
            break
        shared += 1
    return len(here) + len(there) - 2 * shared


def choose_examples(file: FileRecord, files: Iterable[FileRecord], most: int) -> Sequence[FileRecord]:
    """Return accepted changes to learn from.

    Of files with the same kinds of sites first, then of those that lie nearest.
    """
    ranked = []
    for other in files:
        if other.path != file.path and other.status == FileStatus.MERGED and other.landed not in (None, other.base):
            rank = (-_measure_likeness(file, other), measure_distance(file.path, other.path), other.path)
            ranked.append((rank, other))
    return [other for _, other in sorted(ranked, key=lambda pair: pair[0])[:most]]


def _measure_likeness(one: FileRecord, other: FileRecord) -> float:
    """Return the share of kinds of sites that two files have in common, from 0 to 1."""
    mine, theirs = {place.site for place in one.places}, {place.site for place in other.places}
    return len(mine & theirs) / max(1, len(mine | theirs))
