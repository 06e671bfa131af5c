"""Files as units of the queue: how they become commits, which stay together, and who is suspected of a red union."""

from collections.abc import Sequence

from orchestrator.domain.ids import UnitId
from orchestrator.domain.migration.files import FileRecord
from orchestrator.domain.text.sanitization import sanitize_title
from orchestrator.engine.context import RunContext
from orchestrator.migrate.landing.culprit_evidence import SourceEvidence
from orchestrator.migrate.recipe import Recipe
from orchestrator.migrate.sharding.file_pairs import build_blocks
from orchestrator.queue.bisection import Units
from orchestrator.queue.composition import OverlayComposer
from orchestrator.queue.landed_partners import LandedGroups
from orchestrator.queue.lander import TargetedSearchOptions


class FileUnits:
    """The units of one run; each is named by its file's path."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._git = context.repository.git

    @property
    def _recipe(self) -> Recipe:
        return Recipe.model_validate(self._context.state.recipe)

    def build_composer(self, files: Sequence[FileRecord]) -> OverlayComposer:
        """Puts files on the branch as the ladder has left them: one commit a shard, with trailers."""
        changes = {}
        for file in files:
            if file.blob is not None:
                changes[UnitId(file.path)] = (file.mode, file.blob)
        expected = {}
        for file in files:
            expected[UnitId(file.path)] = file.branch_blob
        return OverlayComposer(
            self._git, changes, self._message, self._context.commit_date, self.split_by_shard, expected
        )

    def split_by_shard(self, units: Sequence[UnitId]) -> list[tuple[str, list[UnitId]]]:
        """The units by the shards they are in, in the order of the shards."""
        wanted = set(units)
        shards = self._context.state.shards.values()
        parts = []
        for one in shards:
            parts.append((one.name, [UnitId(path) for path in one.files if UnitId(path) in wanted]))
        return [(name, members) for name, members in parts if members]

    def build_targeting(self, units: Sequence[UnitId], *, beside_landed: bool = True) -> TargetedSearchOptions:
        """How a red union is searched: by what failures and tests point at, and with what stays together in groups.

        Where `beside_landed`, partners of the guilty are also sought among what landed: a gate that chooses its tests
        by what differs from the base cannot tell of those.
        """
        evidence = SourceEvidence(self._git, self._context.journal)
        groups, reruns = self._groups(units), self._recipe.verify.flaky_reruns
        landed = self._landed_before(units) if beside_landed else None
        return TargetedSearchOptions(evidence, groups=groups, reruns=reruns, landed=landed)

    def _groups(self, units: Sequence[UnitId]) -> Sequence[Units]:
        """The units, those in one group that are accepted or sent back together."""
        rules = self._recipe.merge
        if rules.bisect_unit == "shard" or rules.on_red == "reject-shard":
            return [tuple(members) for _, members in self.split_by_shard(units)]
        return [tuple(map(UnitId, block)) for block in build_blocks(units, self._recipe.shard.pair)]

    def _landed_before(self, units: Sequence[UnitId]) -> LandedGroups:
        """What landed of other files; taken back, such a file is what it was on the base."""
        files, tried = self._context.state.files, frozenset(units)
        back = {}
        for f in files.values():
            if f.landed and f.path not in tried:
                back[UnitId(f.path)] = (f.mode, f.base)
        made = {unit: (files[unit].mode, blob) for unit in units if (blob := files[unit].blob)}
        composer = OverlayComposer(self._git, made | back, _trial, self._context.commit_date)
        return LandedGroups(self._groups(tuple(back)), composer)

    def _message(self, shard: str, units: Sequence[UnitId]) -> str:
        files = [self._context.state.files[unit] for unit in units]
        rungs = ", ".join(self._recipe.step[rung].id for rung in sorted({file.rung for file in files}))
        trailers = {
            "Migration-Id": self._recipe.migration.id,
            "Recipe-Rev": self._recipe.revision,
            "Shard": shard,
            "Rung": rungs,
            "Orchestrate-Run": self._context.state.run.run,
        }
        lines = "\n".join(f"{name}: {value}" for name, value in trailers.items())
        return f"{sanitize_title(self._recipe.title)} ({len(units)} files)\n\n{lines}\n"


def _trial(_part: str, _units: Sequence[UnitId]) -> str:
    return "A trial\n"
