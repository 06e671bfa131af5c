"""Dividing the files of a migration into shards: file-disjoint pieces that land as one commit each."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, groupby
from pathlib import PurePosixPath

from orchestrator.domain.migration.files import FileRecord, Shard
from orchestrator.domain.recipe.shard import ShardKey
from orchestrator.domain.text.sanitization import strip_controls
from orchestrator.migrate.recipe import ShardRules
from orchestrator.migrate.sharding.file_pairs import build_blocks

SAMPLE_SHARD = "sample"
"""The name of the shard that goes first."""
_ODD = re.compile(r"[^\w.@+/-]+")
_REVISION = re.compile(r"\.r(\d+)$")


@dataclass(frozen=True)
class DivisionInputs:
    """What a division rests on beside the files' own records.

    Attributes:
        clusters: path to the name of the group of files that import each other, for the key `import-cluster`.
        commanded: path to the shard that the recipe's command names, for the key `command`.
        changed_lines: path to the number of changed lines, where it is known; else one line a site is taken.
        leaves_first: all paths, each after what it imports, for that order.
    """

    clusters: Mapping[str, str] = field(default_factory=dict)
    commanded: Mapping[str, str] = field(default_factory=dict)
    changed_lines: Mapping[str, int] = field(default_factory=dict)
    leaves_first: Sequence[str] = ()


_NO_GROUNDS = DivisionInputs()


@dataclass
class _Piece:
    """Files on their way to be a shard, in the order of their blocks; `label` is what they were grouped by."""

    label: str
    files: list[FileRecord] = field(default_factory=list)
    lines: int = 0

    @property
    def owner(self) -> str:
        return " ".join(dict.fromkeys(word for file in self.files for word in file.owner.split()))


def plan_shards(
    files: Sequence[FileRecord],
    rules: ShardRules,
    grounds: DivisionInputs = _NO_GROUNDS,
    started: Sequence[Shard] = (),
    sample: Sequence[str] = (),
) -> tuple[Shard, ...]:
    """The shards of the files that no started shard holds, in the order in which they should go.

    Every file stands in exactly one of them. Paired files stay together, even where that breaks a bound. With the
    same input the division is the same, in whatever order the files come.

    Args:
        files: what is to be divided.
        rules: the recipe's.
        grounds: what the rules rest on.
        started: shards that keep their files and names, among them all that have landed.
        sample: paths that form the first shard, called `sample`, with what is paired with them.
    """
    kept = set()
    for shard in started:
        for path in shard.files:
            kept.add(path)
    records = {}
    for file in files:
        if file.path not in kept:
            records[file.path] = file
    division = _Division(rules, grounds, records)
    units, wanted = build_blocks(list(records), rules.pair), set(sample)
    chosen = set()
    for unit in units:
        if wanted & set(unit):
            for path in unit:
                chosen.add(path)
    pieces = division.sort_pieces(
        division.join_small_pieces(division.cut_pieces(unit for unit in units if unit[0] not in chosen))
    )
    names = _Names({SAMPLE_SHARD, *(shard.name for shard in started)})
    leading = [_Piece(SAMPLE_SHARD, [records[path] for path in sorted(chosen)])] if chosen else []
    return (
        *(_shard(SAMPLE_SHARD, piece) for piece in leading),
        *(_shard(names.choose_name(piece.label), piece) for piece in pieces),
    )


def _shard(name: str, piece: _Piece) -> Shard:
    return Shard(name=name, files=tuple(sorted(file.path for file in piece.files)), owner=piece.owner)


class _Division:
    def __init__(self, rules: ShardRules, grounds: DivisionInputs, records: Mapping[str, FileRecord]) -> None:
        self._rules, self._grounds, self._records = rules, grounds, records
        self._ranks = {path: rank for rank, path in enumerate(grounds.leaves_first)}
        owners = {file.owner for file in records.values()}
        self._tells_owner = len(owners) > 1

    def cut_pieces(self, units: Iterable[tuple[str, ...]]) -> list[_Piece]:
        """The blocks, grouped by the keys of the rules, and the groups cut where they pass a bound."""
        keyed = sorted((self._keys(unit[0]), self._place(unit), unit) for unit in units)
        pieces: list[_Piece] = []
        for keys, group in groupby(keyed, key=lambda one: one[0]):
            pieces += self._cut_group(self._label(keys), [unit for _, _, unit in group])
        return pieces

    def _cut_group(self, label: str, units: Sequence[tuple[str, ...]]) -> list[_Piece]:
        """One group in pieces within the bounds, of about the same size by whichever bound cuts it more often."""
        files, lines = sum(map(len, units)), sum(map(self._lines, units))
        by_files, by_lines = -(-files // self._rules.max_files), -(-lines // self._rules.max_lines)
        cut = [_Piece(label)]
        for unit in units:
            now, more = cut[-1], self._lines(unit)
            if by_files >= by_lines:
                is_full = len(now.files) * by_files >= files
            else:
                is_full = now.lines * by_lines >= lines
            if now.files and (is_full or not self._holds(now, len(unit), more)):
                now = _Piece(label)
                cut.append(now)
            now.files += (self._records[path] for path in unit)
            now.lines += more
        return cut

    def join_small_pieces(self, pieces: Sequence[_Piece]) -> list[_Piece]:
        """Small pieces with the one before them that has the same owner, as far as the bounds allow."""
        kept: list[_Piece] = []
        last: dict[str, _Piece] = {}
        for piece in pieces:
            before = last.get(piece.owner)
            is_small = len(piece.files) < self._rules.min_files and "file" not in self._rules.by
            if is_small and before and self._holds(before, len(piece.files), piece.lines):
                before.files += piece.files
                before.lines += piece.lines
                continue
            kept.append(piece)
            last[piece.owner] = piece
        return kept

    def sort_pieces(self, pieces: Sequence[_Piece]) -> list[_Piece]:
        """The pieces in the order of the rules; those alike by their first paths."""

        def build_sort_key(piece: _Piece) -> tuple[float, str]:
            match self._rules.order:
                case "leaves-first":
                    first = max(self._rank(file.path) for file in piece.files)
                case "smallest-first":
                    first = piece.lines
                case "risk-first":
                    first = -piece.lines
                case _:
                    first = 0
            return first, min(file.path for file in piece.files)

        return sorted(pieces, key=build_sort_key)

    def _holds(self, piece: _Piece, files: int, lines: int) -> bool:
        return len(piece.files) + files <= self._rules.max_files and piece.lines + lines <= self._rules.max_lines

    def _lines(self, unit: Iterable[str]) -> int:
        known = self._grounds.changed_lines
        return sum(known.get(path, max(1, self._records[path].sites)) for path in unit)

    def _place(self, unit: Sequence[str]) -> int:
        if self._rules.order == "leaves-first":
            return max(map(self._rank, unit))
        return 0

    def _rank(self, path: str) -> int:
        return self._ranks.get(path, len(self._ranks))

    def _keys(self, path: str) -> tuple[str, ...]:
        return tuple(self._key(key, path) for key in self._rules.by)

    def _key(self, key: ShardKey, path: str) -> str:
        match key:
            case "file":
                return path
            case "directory":
                return "/".join(PurePosixPath(path).parent.parts[: self._rules.depth])
            case "owner":
                return self._records[path].owner
            case "import-cluster":
                return self._grounds.clusters.get(path, path)
            case "command":
                return self._grounds.commanded.get(path, "")

    def _label(self, keys: Sequence[str]) -> str:
        """A name that says what is in it: by what it was divided, with the owner first where there are several."""
        told = dict(zip(self._rules.by, keys, strict=True))
        owner = told.pop("owner", "").partition(" ")[0].rpartition("/")[2].lstrip("@")
        if "file" in told:
            return told["file"]
        if len(told) > 1:
            told.pop("import-cluster", None)  # its name is a file's, which may lie anywhere
        words = [owner if self._tells_owner else "", *told.values()]
        return "/".join(word for word in words if word)


class _Names:
    """Names that nothing else has, not even as a later revision."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = Counter(_REVISION.sub("", name) for name in taken)

    def choose_name(self, label: str) -> str:
        stem = _ODD.sub("-", strip_controls(label)).strip("/-.") or "root"
        stem = _REVISION.sub(r"-r\1", stem)[:100]
        names = (stem if number == 1 else f"{stem}-{number}" for number in count(1))
        name = next(name for name in names if name not in self._taken)
        self._taken[name] += 1
        return name
