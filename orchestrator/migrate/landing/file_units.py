"""Files as units of the queue: their commits, their groups, and the search for the guilty of a red union."""

from collections.abc import Mapping, Sequence

from orchestrator.domain.ids import UnitId
from orchestrator.domain.migration.files import FileRecord
from orchestrator.domain.recipe.model import Recipe
from orchestrator.domain.text.sanitization import sanitize_title
from orchestrator.engine.context import RunContext
from orchestrator.migrate.landing.culprit_evidence import SourceEvidence
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
        return self._context.state.migration.require_recipe()

    def build_composer(self, files: Sequence[FileRecord]) -> OverlayComposer:
        """Return a composer that puts files on the branch as the ladder has left them: one commit a shard."""
        changes, expected = {}, {}
        for file in files:
            expected[UnitId(file.path)] = file.branch_blob
            if file.blob is not None:
                changes[UnitId(file.path)] = (file.mode, file.blob)
        return OverlayComposer(
            self._git, changes, self._write_message, self._context.commit_date, self.split_by_shard, expected
        )

    def split_by_shard(self, units: Sequence[UnitId]) -> list[tuple[str, list[UnitId]]]:
        """Return the units by the shards they are in, in the order of the shards."""
        wanted, parts = set(units), []
        for shard in self._context.state.migration.shards.values():
            members = [unit for unit in map(UnitId, shard.files) if unit in wanted]
            if members:
                parts.append((shard.name, members))
        return parts

    def build_targeting(self, units: Sequence[UnitId], *, beside_landed: bool = True) -> TargetedSearchOptions:
        """Return how to search a red union: by what failures and tests point at, with groups that stay together.

        Where `beside_landed`, partners of the guilty are also sought among what landed: a gate that chooses its tests
        by what differs from the base cannot tell of those.
        """
        evidence = SourceEvidence(self._git, self._context.journal)
        groups, reruns = self._group_units(units), self._recipe.verify.flaky_reruns
        landed = self._find_landed(units) if beside_landed else None
        return TargetedSearchOptions(evidence, groups=groups, reruns=reruns, landed=landed)

    def _group_units(self, units: Sequence[UnitId]) -> Sequence[Units]:
        """Return the units, those in one group that are accepted or sent back together."""
        rules = self._recipe.merge
        if rules.bisect_unit == "shard" or rules.on_red == "reject-shard":
            return [tuple(members) for _, members in self.split_by_shard(units)]
        return [tuple(map(UnitId, block)) for block in build_blocks(units, self._recipe.shard.pair)]

    def _find_landed(self, units: Sequence[UnitId]) -> LandedGroups:
        """Return what landed of other files; taken back, such a file is what it was on the base."""
        changes, landed = {}, []
        for file in self._context.state.migration.files.values():
            unit = UnitId(file.path)
            if unit in units:
                if file.blob:
                    changes[unit] = (file.mode, file.blob)
            elif file.landed:
                landed.append(unit)
                changes[unit] = (file.mode, file.base)
        composer = OverlayComposer(self._git, changes, _write_trial_message, self._context.commit_date)
        return LandedGroups(self._group_units(landed), composer)

    def _write_message(self, shard: str, units: Sequence[UnitId]) -> str:
        files = [self._context.state.migration.files[unit] for unit in units]
        rungs = sorted({file.rung for file in files})
        trailers = {
            "Migration-Id": self._recipe.migration.id,
            "Recipe-Rev": self._recipe.revision,
            "Shard": shard,
            "Rung": ", ".join(self._recipe.step[rung].id for rung in rungs),
            "Orchestrate-Run": self._context.state.run.run,
        }
        return f"{sanitize_title(self._recipe.title)} ({len(units)} files)\n\n{format_trailers(trailers)}\n"


def format_trailers(trailers: Mapping[str, str]) -> str:
    """Return the trailers of a commit message, one a line."""
    return "\n".join(f"{name}: {value}" for name, value in trailers.items())


def _write_trial_message(_part: str, _units: Sequence[UnitId]) -> str:
    return "A trial\n"
