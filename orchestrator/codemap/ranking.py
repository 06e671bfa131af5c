"""Which files and symbols matter: a file does that others refer to, and that the question is about.

A file refers to another where it uses a name that the other defines. Rank flows along these references as in PageRank,
and begins at the files of the first rank and those that define what the question names.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from orchestrator.codemap.file_choice import ChosenFiles
from orchestrator.codemap.focus import Focus, split_words
from orchestrator.codemap.symbol_extraction import SourceSymbols, Symbol
from orchestrator.judge.files.changed_file import is_test_path

_DAMPING = 0.65
_FOCUSED_DAMPING = 0.4
"""With a question what it names counts for more than what everybody uses."""
_ROUNDS = 12
_MAX_DEFINERS = 6
"""A name that more files define tells nothing of who is meant."""
_EXACT_SCORE = 8.0
_PART_SCORE = 1.0
_NAMED_FACTOR = 5.0
_PLAIN_FACTOR = 0.1
"""Of a name that may as well be a word of a comment, such as `line`: it counts so little as a reference."""
_LONG_NAME = 9
_TEST_FACTOR = 0.3
"""Of what tests refer to, and of tests themselves: a map is of the code first."""
_DIGITS = 12


class RankedFile(NamedTuple):
    """A file with its symbols, which are ranked by `weights`."""

    path: str
    symbols: tuple[Symbol, ...]
    weights: tuple[float, ...]


def rank_files(chosen: ChosenFiles, known: Mapping[str, SourceSymbols], focus: Focus) -> list[RankedFile]:
    """Return the parsed files, most important first. `known` are their symbols by the ids of their blobs."""
    sources = {}
    for file in chosen.files:
        if file.oid in known:
            sources[file.path] = known[file.oid]
    definers = _index_definers(sources)
    edges, uses = _connect_files(sources, definers, focus)
    interest = {}
    for path, source in sources.items():
        # squared, so that a few files which the question names outweigh a thousand others
        interest[path] = (chosen.scores[path] + _measure_interest(source.symbols, focus)) ** 2
    ranks = _spread_rank(edges, interest, _FOCUSED_DAMPING if focus.words else _DAMPING)
    for path in filter(is_test_path, sources):
        ranks[path] *= _TEST_FACTOR
    ordered = sorted(sources, key=lambda path: (-round(ranks[path], _DIGITS), path))
    ranked = []
    for path in ordered:
        symbols = sources[path].symbols
        ranked.append(RankedFile(path, symbols, _weigh_symbols(path, symbols, uses, focus)))
    return ranked


def _index_definers(sources: Mapping[str, SourceSymbols]) -> Mapping[str, list[str]]:
    """Return for each name the files that define it, if these are few."""
    definers: dict[str, list[str]] = defaultdict(list)
    for path, source in sources.items():
        names: set[str] = set()
        for symbol in source.symbols:
            if symbol.kind != "impl":
                names.add(symbol.name)
        for name in names:
            definers[name].append(path)
    few = {}
    for name, paths in definers.items():
        if len(paths) <= _MAX_DEFINERS:
            few[name] = paths
    return few


class _References(NamedTuple):
    """Weights of references from file to file, and how often a name of a file is used by others."""

    edges: Mapping[str, Mapping[str, float]]
    uses: Mapping[tuple[str, str], float]


def _connect_files(
    sources: Mapping[str, SourceSymbols], definers: Mapping[str, Sequence[str]], focus: Focus
) -> _References:
    edges: dict[str, dict[str, float]] = {}
    uses: dict[tuple[str, str], float] = defaultdict(float)
    for path, source in sources.items():
        targets: dict[str, float] = defaultdict(float)
        factor = _TEST_FACTOR if is_test_path(path) else 1.0
        for word in source.words:
            others = definers.get(word)
            if others is None or path in others:
                continue
            weight = factor / len(others)
            if not _is_distinctive(word):
                weight *= _PLAIN_FACTOR
            if word in focus.identifiers:
                weight *= _NAMED_FACTOR
            for other in others:
                targets[other] += weight
                uses[other, word] += weight
        edges[path] = targets
    return _References(edges, uses)


def _is_distinctive(name: str) -> bool:
    """Return True for a name that no text holds by chance: of several words, or long."""
    return len(name) >= _LONG_NAME or "_" in name[1:] or (not name.isupper() and not name[1:].islower())


def _measure_interest(symbols: Iterable[Symbol], focus: Focus) -> float:
    """Return how much of what the question names a file defines."""
    if not focus.words:
        return 0.0
    exact, parts = 0, set[str]()
    words = frozenset(focus.words)
    for symbol in symbols:
        exact += symbol.name in focus.identifiers
        parts |= split_words(symbol.name) & words
    return _EXACT_SCORE * min(exact, 3) + _PART_SCORE * min(len(parts), 5)


def _spread_rank(
    edges: Mapping[str, Mapping[str, float]], interest: Mapping[str, float], damping: float
) -> dict[str, float]:
    """Return the rank of each file: a share of what it begins with, and what flows to it from who refers to it."""
    total = sum(interest.values()) or 1.0
    start = {}
    for path, score in interest.items():
        start[path] = score / total
    sums = {}
    for path, targets in edges.items():
        sums[path] = sum(targets.values())
    ranks = dict(start)
    for _ in range(_ROUNDS):
        flowing: dict[str, float] = dict.fromkeys(start, 0.0)
        lost = 0.0
        for path, rank in ranks.items():
            if not sums[path]:
                lost += rank
                continue
            share = rank / sums[path]
            for other, weight in edges[path].items():
                flowing[other] += share * weight
        for path, score in start.items():
            ranks[path] = (1 - damping) * score + damping * (flowing[path] + lost * score)
    return ranks


def _weigh_symbols(
    path: str, symbols: Sequence[Symbol], uses: Mapping[tuple[str, str], float], focus: Focus
) -> tuple[float, ...]:
    words = frozenset(focus.words)
    weights = []
    for symbol in symbols:
        weight = min(uses.get((path, symbol.name), 0.0), 20.0) + (symbol.depth == 0)
        if symbol.name in focus.identifiers:
            weight += 20
        weight += 3 * len(split_words(symbol.name) & words)
        if symbol.name.startswith("_"):
            weight *= 0.3
        weights.append(round(weight, _DIGITS))
    return tuple(weights)
