"""Which other files tell a model most about one: by where they lie, what they import, what kinds of sites they have."""

import re
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from orchestrator.domain.migration.files import FileRecord, FileStatus

_IMPORTS = re.compile(
    r"""^[ \t]*(?:
        .*?(?:\brequire\(|\bimport\(|\bfrom|\bimport)[ \t]*['"](?P<path>[^'"]+)['"]
      | from[ \t]+(?P<source>[\w.]+)[ \t]+import[ \t]+(?P<names>[\w, \t]+)
      | import[ \t]+(?P<modules>[\w., \t]+)
    )""",
    re.VERBOSE | re.MULTILINE,
)
_WORD = re.compile(r"[\w-]+")


def choose_siblings(path: str, text: str, others: Iterable[str], most: int) -> list[str]:
    """The files that help most to understand one: those it imports first, then those of its kind that lie nearest.

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
            ranked.append((0 if PurePosixPath(other).stem in named else 1, measure_distance(path, other), other))
    return [other for _, _, other in sorted(ranked)[:most]]


def parse_imported_names(text: str) -> frozenset[str]:
    """The last names of what a source file in Python or JavaScript imports."""
    found: set[str] = set()
    for match in _IMPORTS.finditer(text):
        parts = [part for part in match.groups() if part]
        found.update(name for part in parts for name in _WORD.findall(part))
    return frozenset(found - {"as", "import", "js", "ts", "mjs", "cjs"})


def measure_distance(one: str, other: str) -> int:
    """How many steps through directories lie between two files; 0 in the same directory."""
    here, there = PurePosixPath(one).parts[:-1], PurePosixPath(other).parts[:-1]
    shared = 0
    for left, right in zip(here, there, strict=False):
        if left != right:
            break
        shared += 1
    return len(here) + len(there) - 2 * shared


def choose_examples(file: FileRecord, files: Iterable[FileRecord], most: int) -> Sequence[FileRecord]:
    """Accepted changes to learn from: of files with the same kinds of sites first, then of those that lie nearest."""
    accepted = [
        other
        for other in files
        if other.path != file.path and other.status == FileStatus.MERGED and other.landed not in (None, other.base)
    ]
    ranked = sorted(
        accepted, key=lambda other: (-_likeness(file, other), measure_distance(file.path, other.path), other.path)
    )
    return ranked[:most]


def _likeness(one: FileRecord, other: FileRecord) -> float:
    """The share of kinds of sites that two files have in common, from 0 to 1."""
    mine, theirs = ({place.site for place in file.places} for file in (one, other))
    if mine | theirs:
        return len(mine & theirs) / len(mine | theirs)
    return 0.0
