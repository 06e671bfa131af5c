"""One pass of the ladder: its steps in order over the files of a wave, and what must hold of each changed file."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType

from orchestrator.domain.event.migration import FileMoved
from orchestrator.domain.ids import CommitId, UnitId
from orchestrator.domain.migration.files import FailureKind, FileRecord, Wave
from orchestrator.domain.recipe.model import Recipe
from orchestrator.domain.recipe.step import TransformStep
from orchestrator.domain.recipe.verify import Level
from orchestrator.engine.context import RunContext
from orchestrator.migrate.judging.file_rules import FileRules
from orchestrator.migrate.judging.file_validator import FileValidator
from orchestrator.migrate.judging.invariants import RuleViolation
from orchestrator.migrate.ladder.passes import Pass, can_take_file
from orchestrator.migrate.ladder.waves import list_wave_files
from orchestrator.migrate.models.human_step import hand_over_files, point_ref
from orchestrator.migrate.models.model_step import run_model_step
from orchestrator.migrate.sites.finder import count_current_sites
from orchestrator.migrate.steps.repeated_passes import NOT_IDEMPOTENT
from orchestrator.migrate.steps.step_executor import find_non_idempotent_files
from orchestrator.migrate.steps.step_io import StepRun, StepTally
from orchestrator.migrate.steps.step_runner import run_step
from orchestrator.queue.composition import OverlayComposer, UnitConflict

_REPEATS = RuleViolation("the step that made the change would change it once more", NOT_IDEMPOTENT)
_REPEAT_LEVELS: Mapping[Level, frozenset[Level]] = MappingProxyType(
    {"step": frozenset({"step"}), "queue": frozenset({"shard", "queue"})}
)
"""The levels of `idempotent` that are looked at right after a step, and at the end of a pass."""


class PassRunner:
    """Takes the files of waves up the ladder of one revision of a recipe.

    Args:
        context: the run.
        recipe: whose ladder.
        rules: the recipe's rules for single files.
        slots: how many of a step's commands may run at a time.
    """

    def __init__(self, context: RunContext, recipe: Recipe, rules: FileRules, slots: int) -> None:
        self._context = context
        self._recipe = recipe
        self._validator = FileValidator(context, recipe, rules)
        self._slots = slots

    async def run_pass(self, wave: Wave, group: Pass) -> Mapping[int, StepTally]:
        """Run the pass's steps in order; what was done in an earlier process is not done again.

        Returns:
            Rung → what became of the files that the step took, for the steps that took any and asked nobody.

        Raises:
            OrchestrateError: the run had to stop before its end.
        """
        start, tallies = await self._context.read_start_commit(), dict[int, StepTally]()
        for rung in group.rungs:
            if files := await self._list_taken_files(wave, rung, group.attempt):
                tally = await self._run_step(wave, rung, group.attempt, files, start)
                if tally is not None:
                    tallies[rung] = tally
                _count_refused(tallies, await self._restore(files, start, "step"))
        _count_refused(tallies, await self._restore(list_wave_files(self._context.state, wave), start, "queue"))
        return tallies

    async def _run_step(
        self, wave: Wave, rung: int, attempt: int, files: Sequence[FileRecord], start: CommitId
    ) -> StepTally | None:
        """Run one step; return None for one that asks somebody."""
        step, keep = self._recipe.step[rung], partial(protect_contents, self._context, wave, start)
        if isinstance(step, TransformStep):
            return await run_step(self._context, StepRun(step, rung, start, self._slots), files, keep)
        if step.kind == "human":
            await hand_over_files(self._context, self._recipe, rung, files, start)
        else:
            await run_model_step(self._context, self._recipe, rung, attempt, files, start)
            await keep()
        return None

    async def _restore(self, files: Sequence[FileRecord], start: CommitId, level: Level) -> list[FileMoved]:
        """Put back those of the files that do not hold what they have to; return the moves that did."""
        paths = [file.path for file in files]
        moves = await self._validator.restore_invalid_files(paths, start, level)
        repeating = await self._find_repeating(self._validator.list_changed_files(paths), start, level)
        return moves + await self._validator.restore_files(dict.fromkeys(repeating, _REPEATS), FailureKind.REPEATS)

    async def _find_repeating(self, files: Sequence[FileRecord], start: CommitId, level: Level) -> list[str]:
        """Return the files that the step which made their change would change once more, if the recipe forbids that."""
        levels = _REPEAT_LEVELS[level]
        if not any(rule.kind == "idempotent" and rule.level in levels for rule in self._recipe.invariant):
            return []
        found: list[str] = []
        for rung in sorted({file.rung for file in files}):
            step = self._recipe.step[rung]
            if isinstance(step, TransformStep) and not step.takes_together:
                members = [file for file in files if file.rung == rung]
                found += await find_non_idempotent_files(self._context, StepRun(step, rung, start, 1), members)
        return found

    async def _list_taken_files(self, wave: Wave, rung: int, attempt: int) -> list[FileRecord]:
        """Return the files of the wave that the step takes."""
        step, counts_sites = self._recipe.step[rung], bool(self._recipe.work_scope.site)
        files = list_wave_files(self._context.state, wave)
        sites: Mapping[str, int] = {}
        if step.when == "sites-left" and counts_sites:
            sites = await count_current_sites(self._context, self._recipe, files)
        taken = []
        for file in files:
            if can_take_file(step, rung, file, sites.get(file.path, 0), counts_sites, attempt):
                taken.append(file)
        return taken


def _count_refused(tallies: Mapping[int, StepTally], moves: Iterable[FileMoved]) -> None:
    for move in moves:
        if move.rung in tallies:
            tallies[move.rung].refused += 1


async def protect_contents(context: RunContext, wave: Wave, start: CommitId) -> None:
    """Point a ref at what the ladder has made of the wave's files, on top of `start`, so that git keeps it."""
    contents = {}
    for file in list_wave_files(context.state, wave):
        blob = file.blob or file.tried
        if blob:
            contents[UnitId(file.path)] = (file.mode, blob)
    if not contents:
        return
    composer = OverlayComposer(context.repository.git, contents, _write_message, context.commit_date)
    composed = await composer.compose_union(start, sorted(contents))
    assert not isinstance(composed, UnitConflict), "nothing is expected to stand where these are put"
    await point_ref(context, context.refs.build_wave_ref(wave.number), composed.commit)


def _write_message(_part: str, _units: Sequence[UnitId]) -> str:
    return "What the ladder made\n"
