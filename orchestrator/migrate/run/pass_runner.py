"""One pass of the ladder: its steps in order over the files of a wave, and what must hold of each changed file."""

from collections.abc import Sequence
from functools import partial

from orchestrator.domain.ids import CommitId
from orchestrator.domain.migration.files import FileRecord, Wave
from orchestrator.engine.context import RunContext
from orchestrator.migrate.judging.file_validator import FileValidator
from orchestrator.migrate.judging.gate import MigrationGate
from orchestrator.migrate.ladder.passes import Pass, can_take_file
from orchestrator.migrate.ladder.waves import list_wave_files
from orchestrator.migrate.landing.wave_lander import WaveLander
from orchestrator.migrate.models.human_step import hand_over_files
from orchestrator.migrate.models.model_step import run_model_step
from orchestrator.migrate.recipe import Recipe
from orchestrator.migrate.sites.current_counts import count_current_sites
from orchestrator.migrate.steps.step_runner import run_step
from orchestrator.migrate.steps.step_workspace import StepRun


class PassRunner:
    """Takes the files of waves up the ladder of one revision of a recipe.

    Args:
        context: the run.
        recipe: whose ladder.
        gate: knows the rules for files.
        slots: how many of a step's commands may run at a time.
    """

    def __init__(self, context: RunContext, recipe: Recipe, gate: MigrationGate, slots: int) -> None:
        self._context = context
        self._recipe = recipe
        self._scales = FileValidator(context, recipe, gate.rules)
        self._landings = WaveLander(context, gate)
        self._slots = slots

    async def run_pass(self, wave: Wave, group: Pass) -> None:
        """Run the pass's steps in order; what was done in an earlier process is not done again.

        Raises:
            OrchestrateError: the run had to stop before its end.
        """
        start = await self._context.read_start_commit()
        for rung in group.rungs:
            files = await self._taken(wave, rung, group.attempt)
            if files:
                await self._run_step(wave, rung, group.attempt, files, start)
                await self._scales.restore_invalid_files([file.path for file in files], start, "step")
        await self._scales.restore_invalid_files(
            [file.path for file in list_wave_files(self._context.state, wave)], start, "queue"
        )

    async def _run_step(
        self, wave: Wave, rung: int, attempt: int, files: Sequence[FileRecord], start: CommitId
    ) -> None:
        step, keep = self._recipe.step[rung], partial(self._landings.protect_contents, wave, start)
        match step.kind:
            case "llm":
                await run_model_step(self._context, self._recipe, rung, attempt, files, start)
                await keep()
            case "human":
                await hand_over_files(self._context, self._recipe, rung, files, start)
            case _:
                await run_step(self._context, StepRun(step, rung, start, self._slots), files, keep)

    async def _taken(self, wave: Wave, rung: int, attempt: int) -> list[FileRecord]:
        step, counts = self._recipe.step[rung], bool(self._recipe.work_scope.site)
        files = list_wave_files(self._context.state, wave)
        left = (
            await count_current_sites(self._context, self._recipe, files)
            if step.when == "sites-left" and counts
            else {}
        )
        return [file for file in files if can_take_file(step, rung, file, left.get(file.path, 0), counts, attempt)]
