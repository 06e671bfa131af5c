"""One pass of the ladder: its steps in order over the files of a wave, and what must hold of each changed file."""

from collections.abc import Sequence
from functools import partial

from orchestrator.domain.ids import CommitId
from orchestrator.domain.migration import FileRecord, Wave
from orchestrator.engine.context import RunContext
from orchestrator.migrate.judging.gate import MigrationGate
from orchestrator.migrate.judging.weigh import Scales
from orchestrator.migrate.ladder import Pass, takes
from orchestrator.migrate.landing.landings import Landings
from orchestrator.migrate.models.human import hand_over
from orchestrator.migrate.models.model_step import run_model_step
from orchestrator.migrate.recipe import Recipe
from orchestrator.migrate.scope.counting import sites_now
from orchestrator.migrate.steps.bench import StepRun
from orchestrator.migrate.steps.transform import run_step
from orchestrator.migrate.wave import wave_files


class Climb:
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
        self._scales = Scales(context, recipe, gate.rules)
        self._landings = Landings(context, gate)
        self._slots = slots

    async def climb(self, wave: Wave, group: Pass) -> None:
        """Run the pass's steps in order; what was done in an earlier process is not done again.

        Raises:
            OrchestrateError: the run had to stop before its end.
        """
        start = await self._context.head()
        for rung in group.rungs:
            files = await self._taken(wave, rung, group.attempt)
            if files:
                await self._run_step(wave, rung, group.attempt, files, start)
                await self._scales.weigh([file.path for file in files], start, "step")
        await self._scales.weigh([file.path for file in wave_files(self._context.state, wave)], start, "queue")

    async def _run_step(
        self, wave: Wave, rung: int, attempt: int, files: Sequence[FileRecord], start: CommitId
    ) -> None:
        step, keep = self._recipe.step[rung], partial(self._landings.protect, wave, start)
        match step.kind:
            case "llm":
                await run_model_step(self._context, self._recipe, rung, attempt, files, start)
                await keep()
            case "human":
                await hand_over(self._context, self._recipe, rung, files, start)
            case _:
                await run_step(self._context, StepRun(step, rung, start, self._slots), files, keep)

    async def _taken(self, wave: Wave, rung: int, attempt: int) -> list[FileRecord]:
        step, counts = self._recipe.step[rung], bool(self._recipe.work_scope.site)
        files = wave_files(self._context.state, wave)
        left = await sites_now(self._context, self._recipe, files) if step.when == "sites-left" and counts else {}
        return [file for file in files if takes(step, rung, file, left.get(file.path, 0), counts, attempt)]
