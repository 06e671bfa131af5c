"""Working on a run in this process: from its beginning, or from where it stands, to its end or to what stops it."""

import os
from dataclasses import dataclass

from anyio import to_thread

from orchestrator.app.beginning import begin_goal, begin_migration
from orchestrator.app.contract import notice_another_contract
from orchestrator.app.options import Options
from orchestrator.app.place import Place, is_due, to_be_resumed
from orchestrator.app.wiring import Watcher, open_run
from orchestrator.domain.event.run import RepositoryMoved, RunPaused
from orchestrator.domain.state import RunState
from orchestrator.engine.context import RunContext
from orchestrator.engine.desk import Desk
from orchestrator.engine.finish import end_run
from orchestrator.engine.points import after_run, before_run
from orchestrator.engine.recover import recover
from orchestrator.engine.run import GoalRun
from orchestrator.errors import JournalProblem, OrchestrateError, Replaced, RunCancelled, as_ours
from orchestrator.journal.runs import RunDirectory
from orchestrator.migrate.asked import EVERYTHING, Asked
from orchestrator.migrate.drive import MigrationRun
from orchestrator.migrate.recipe import Recipe
from worktrees.errors import GitError


@dataclass(frozen=True)
class Ended:
    """A run that this process has left: at its end, or before it because of `error`."""

    directory: RunDirectory
    state: RunState
    error: OrchestrateError | None = None

    @property
    def exit_code(self) -> int:
        """What the process leaves with."""
        if self.error is not None:
            return self.error.exit_code
        return self.state.ended.exit if self.state.ended else 1


async def run_goal(options: Options, goal: str, watcher: Watcher | None = None) -> Ended:
    """Carry a goal to its end in this process; raises as `begin_goal` does."""
    return await work(await begin_goal(options, goal), watcher)


async def migrate(options: Options, recipe: Recipe, watcher: Watcher | None = None, asked: Asked = EVERYTHING) -> Ended:
    """Carry a migration to its end in this process; raises as `begin_migration` does."""
    return await work(await begin_migration(options, recipe, asked), watcher)


async def resume(options: Options, wanted: str | None, watcher: Watcher | None = None) -> Ended:
    """Go on with a run in this process; one that has ended, and that no command waits for, is only reported.

    Raises:
        RunLocked: another process works on it.
        UsageProblem: as `to_be_resumed` says.
    """
    place, state = await to_thread.run_sync(to_be_resumed, options, wanted)
    if not is_due(place, state):
        return Ended(place.directory, state)
    return await work(place, watcher)


async def work(place: Place, watcher: Watcher | None = None) -> Ended:
    """Work on a run until it ends or something stops it; why it stopped is the last thing recorded.

    Raises:
        RunLocked: another process works on it.
    """
    async with open_run(place, watcher) as context:
        try:
            await _note_repository(context)
            await recover(context)
            context.recovered()
            await notice_another_contract(context)
            await _execute(context)
        except (OrchestrateError, GitError, OSError) as error:
            problem = as_ours(error)
            if problem is None:
                raise
            if not isinstance(problem, JournalProblem | Replaced):
                await context.journal.append(RunPaused(reason=str(problem), exit=problem.exit_code))
            return Ended(place.directory, context.state, problem)
        return Ended(place.directory, context.state)


async def _note_repository(context: RunContext) -> None:
    root = str(context.repository.root)
    if context.state.run.repository != root:
        await context.journal.append(RepositoryMoved(repository=root))


async def _execute(context: RunContext) -> None:
    if context.state.ended is None and not context.state.cancelled:
        await before_run(context)
        await _until_cancelled(context)
    if context.state.ended is None:
        await end_run(context, "cancelled", context.state.cancelled)
    await after_run(context)


async def _until_cancelled(context: RunContext) -> None:
    """Let the run go its way; on again where somebody has a task tried again as soon as the run was given up."""
    while context.state.ended is None and not context.state.cancelled:
        try:
            await carry_out(context)
        except RunCancelled:
            await Desk(context.journal, context.directory.inbox).take_all()


async def carry_out(context: RunContext) -> None:
    """Let the run go its way to its end; raises as the two kinds of runs do."""
    if context.state.run.recipe is not None:
        slots = context.config.hands.slots or len(os.sched_getaffinity(0))
        await MigrationRun(context, slots).execute()
    elif context.roles is not None:
        await GoalRun(context, context.roles).execute()
