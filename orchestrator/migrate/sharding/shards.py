"""Dividing the files of a migration into shards: file-disjoint pieces that land as one commit each."""

import re
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from orchestrator.domain.ids import choose_free_name
from orchestrator.domain.migration.files import FileRecord, Shard
from orchestrator.domain.recipe.shard import PAIR_SEPARATOR, ShardKey, ShardRules
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.domain.text.sanitization import strip_controls
from orchestrator.queue.bisection import merge_groups

SAMPLE_SHARD = "sample"
"""The name of the shard that goes first."""
_ODD = compile_lazily(r"[^\w.@+/-]+")
_REVISION = compile_lazily(r"\.r(\d+)$")


def build_blocks(paths: Sequence[str], pairs: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Return the paths in blocks that are never divided, sorted by their first members; most have one path.

    What is paired with one and the same file is in one block. The first member of a block is one that a pattern
    fits, if there is such a one: it stands for the block where blocks are divided by their paths.
    """
    known = set(paths)
    couples = []
    for pair in find_pairs(sorted(known), pairs):
        if pair[1] in known and pair[0] != pair[1]:
            couples.append(pair)
    named = {one for one, _ in couples}
    merged = merge_groups(sorted(known), couples)
    blocks = [sorted(block, key=lambda path: (path not in named, path)) for block in merged]
    return tuple(map(tuple, sorted(blocks)))


def find_pairs(paths: Sequence[str], pairs: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each path that a pattern fits with the path that it is paired with, which need not exist."""
    for pair in pairs:
        pattern, _, template = pair.partition(PAIR_SEPARATOR)
        compiled = re.compile(pattern.strip())
        for path in paths:
            if match := compiled.fullmatch(path):
                yield path, match.expand(template.strip())


@dataclass(frozen=True)
class DivisionInputs:
    """The facts that a division rests on beside the files' own records.

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


_NO_INPUTS = DivisionInputs()


@dataclass
class _Piece:
    """Files on their way to be a shard, in the order of their blocks; `label` is what they were grouped by."""

    label: str
    files: list[FileRecord] = field(default_factory=list)
    lines: int = 0

    @property
    def owner(self) -> str:
        owners: dict[str, None] = {}
        for file in self.files:
            owners |= dict.fromkeys(file.owner.split())
        return " ".join(owners)


def plan_shards(
    files: Sequence[FileRecord],
    rules: ShardRules,
    inputs: DivisionInputs = _NO_INPUTS,
    started: Sequence[Shard] = (),
    sample: Sequence[str] = (),
) -> tuple[Shard, ...]:
    """Return the shards of the files that no started shard holds, in the order in which they should go.

    Every file stands in exactly one of them. Paired files stay together, even where that breaks a bound. With the
    same input the division is the same, in whatever order the files come.

    Args:
        files: what is to be divided.
        rules: the recipe's.
        inputs: what the rules rest on.
        started: shards that keep their files and names, among them all that have landed.
        sample: paths that form the first shard, called `sample`, with what is paired with them.
    """
    kept = {path for shard in started for path in shard.files}
    records = {file.path: file for file in files if file.path not in kept}
    division = _Division(rules, inputs, records)
    rest: list[tuple[str, ...]] = []
    chosen: list[str] = []
    for block in build_blocks(list(records), rules.pair):
        if set(sample).isdisjoint(block):
            rest.append(block)
        else:
            chosen += block
    pieces = division.sort_pieces(division.join_small_pieces(division.cut_pieces(rest)))
    taken = {SAMPLE_SHARD, *(_REVISION.sub("", shard.name) for shard in started)}
    shards = []
    if chosen:
        shards.append(_build_shard(SAMPLE_SHARD, _Piece(SAMPLE_SHARD, [records[path] for path in sorted(chosen)])))
    for piece in pieces:
        name = _choose_shard_name(piece.label, taken)
        taken.add(name)
        shards.append(_build_shard(name, piece))
    return tuple(shards)


def _build_shard(name: str, piece: _Piece) -> Shard:
    return Shard(name=name, files=tuple(sorted(file.path for file in piece.files)), owner=piece.owner)


class _Division:
    def __init__(self, rules: ShardRules, inputs: DivisionInputs, records: Mapping[str, FileRecord]) -> None:
        self._rules, self._inputs, self._records = rules, inputs, records
        self._ranks = {path: rank for rank, path in enumerate(inputs.leaves_first)}
        self._has_owners = len({file.owner for file in records.values()}) > 1

    def cut_pieces(self, units: Iterable[tuple[str, ...]]) -> list[_Piece]:
        """Return the blocks grouped by the keys of the rules, and the groups cut where they pass a bound."""
        groups: defaultdict[tuple[str, ...], list[tuple[int, tuple[str, ...]]]] = defaultdict(list)
        for unit in units:
            groups[self._build_keys(unit[0])].append((self._rank_block(unit), unit))
        pieces: list[_Piece] = []
        for keys, members in sorted(groups.items()):
            pieces += self._cut_group(self._build_label(keys), [unit for _, unit in sorted(members)])
        return pieces

    def _cut_group(self, label: str, units: Sequence[tuple[str, ...]]) -> list[_Piece]:
        """Return one group in pieces within the bounds, of about the same size by the bound that cuts it more often."""
        files, lines = sum(map(len, units)), sum(map(self._count_lines, units))
        by_files, by_lines = -(-files // self._rules.max_files), -(-lines // self._rules.max_lines)
        cut = [_Piece(label)]
        for unit in units:
            now, more = cut[-1], self._count_lines(unit)
            if by_files >= by_lines:
                is_full = len(now.files) * by_files >= files
            else:
                is_full = now.lines * by_lines >= lines
            if now.files and (is_full or not self._has_room(now, len(unit), more)):
                now = _Piece(label)
                cut.append(now)
            now.files += (self._records[path] for path in unit)
            now.lines += more
        return cut

    def join_small_pieces(self, pieces: Sequence[_Piece]) -> list[_Piece]:
        """Join small pieces to the one before them that has the same owner, as far as the bounds allow."""
        kept: list[_Piece] = []
        last: dict[str, _Piece] = {}
        for piece in pieces:
            before = last.get(piece.owner)
            is_small = len(piece.files) < self._rules.min_files and "file" not in self._rules.by
            if is_small and before and self._has_room(before, len(piece.files), piece.lines):
                before.files += piece.files
                before.lines += piece.lines
                continue
            kept.append(piece)
            last[piece.owner] = piece
        return kept

    def sort_pieces(self, pieces: Sequence[_Piece]) -> list[_Piece]:
        """Return the pieces in the order of the rules; those alike by their first paths."""

        def build_sort_key(piece: _Piece) -> tuple[float, str]:
            match self._rules.order:
                case "leaves-first":
                    first = max(self._get_rank(file.path) for file in piece.files)
                case "smallest-first":
                    first = piece.lines
                case "risk-first":
                    first = -piece.lines
                case _:
                    first = 0
            return first, min(file.path for file in piece.files)

        return sorted(pieces, key=build_sort_key)

    def _has_room(self, piece: _Piece, files: int, lines: int) -> bool:
        return len(piece.files) + files <= self._rules.max_files and piece.lines + lines <= self._rules.max_lines

    def _count_lines(self, unit: Iterable[str]) -> int:
        known = self._inputs.changed_lines
        return sum(known.get(path, max(1, self._records[path].sites)) for path in unit)

    def _rank_block(self, unit: Sequence[str]) -> int:
        return max(map(self._get_rank, unit)) if self._rules.order == "leaves-first" else 0

    def _get_rank(self, path: str) -> int:
        return self._ranks.get(path, len(self._ranks))

    def _build_keys(self, path: str) -> tuple[str, ...]:
        return tuple(self._build_key(key, path) for key in self._rules.by)

    def _build_key(self, key: ShardKey, path: str) -> str:
        match key:
            case "file":
                return path
            case "directory":
                return "/".join(PurePosixPath(path).parent.parts[: self._rules.depth])
            case "owner":
                return self._records[path].owner
            case "import-cluster":
                return self._inputs.clusters.get(path, path)
            case "command":
                return self._inputs.commanded.get(path, "")

    def _build_label(self, keys: Sequence[str]) -> str:
        """Return a name that says what is in it.

        By what it was divided, with the owner first where there are several.
        """
        parts = dict(zip(self._rules.by, keys, strict=True))
        owner = parts.pop("owner", "").partition(" ")[0].rpartition("/")[2].lstrip("@")
        if "file" in parts:
            return parts["file"]
        if len(parts) > 1:
            parts.pop("import-cluster", None)  # its name is a file's, which may lie anywhere
        if not self._has_owners:
            owner = ""
        return "/".join(filter(None, [owner, *parts.values()]))


def _choose_shard_name(label: str, taken: Container[str]) -> str:
    """Return a name for the label that nothing taken has, not even as a later revision."""
    stem = _ODD.sub("-", strip_controls(label)).strip("/-.") or "root"
    return choose_free_name(_REVISION.sub(r"-r\1", stem)[:100], taken)
