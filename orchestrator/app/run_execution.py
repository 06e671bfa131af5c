"""Work on a run in this process, from its beginning or from where it stands, to its end or to what stops it."""

import gc
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import anyio
from anyio import to_thread

from orchestrator.app.wiring import RunWatcher, open_run
from orchestrator.collector_pause import pause_collector
from orchestrator.config.layers import read_project_criteria
from orchestrator.domain.event.run import Noticed, RepositoryMoved, RunPaused
from orchestrator.domain.run.notice_codes import NoticeCode
from orchestrator.domain.run.state import RunState
from orchestrator.engine.context import RunContext
from orchestrator.engine.control.command_consumer import CommandConsumer
from orchestrator.engine.hook_points import notify_run_ended, require_run_allowed
from orchestrator.engine.lost_hosts import LossCounter
from orchestrator.engine.recovery.open_intents import settle_open_intents
from orchestrator.engine.run_end import end_run
from orchestrator.errors import HostLost, JournalProblem, OrchestrateError, RunCancelled, RunTakenOver, convert_error
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.ports.ledger import record_notice_once
from orchestrator.project.narrow_limits import find_narrow_limits
from orchestrator.project.options import Options
from orchestrator.run_control.control import RunLocation, needs_engine, prepare_resume
from worktrees.errors import GitError

if TYPE_CHECKING:
    from orchestrator.domain.recipe.model import Recipe
    from orchestrator.migrate.scope.planning import WorkFilter

GC_THRESHOLDS = (5_000, 10, 200)
"""New objects before a collection of the youngest, and how many of those and of the next come before a full one.

A full one stops hundreds of agents for 0.4 s: with Python's usual figures every few seconds, with these every hour.
"""


@dataclass(frozen=True)
class RunExit:
    """A run that this process has left: at its end, or before it because of `error`."""

    directory: RunDirectory
    state: RunState
    error: OrchestrateError | None = None

    @property
    def exit_code(self) -> int:
        """The exit code of the process."""
        if self.error is not None:
            return self.error.exit_code
        return self.state.ended.exit if self.state.ended else 1


async def run_goal(options: Options, goal: str, watcher: RunWatcher | None = None) -> RunExit:
    """Carry a goal to its end in this process; raises as `create_goal_run` does."""
    from orchestrator.app.run_creation import create_goal_run  # an engine goes on with runs, and makes none

    return await work_on_run(await create_goal_run(options, goal), watcher)


async def run_migration(
    options: Options, recipe: "Recipe", watcher: RunWatcher | None = None, work_filter: "WorkFilter | None" = None
) -> RunExit:
    """Carry a migration to its end in this process; raises as `create_migration_run` does.

    Without a `work_filter` it is about everything.
    """
    from orchestrator.app.run_creation import create_migration_run

    return await work_on_run(await create_migration_run(options, recipe, work_filter), watcher)


async def resume_run(
    options: Options, wanted: str | None, watcher: RunWatcher | None = None, *, may_reopen: bool = True
) -> RunExit:
    """Go on with a run in this process; one that has ended, and that no command waits for, is only reported.

    If it ended because what landed could not be judged, it is judged again where it `may_reopen`.

    Raises:
        RunLocked: another process works on it.
        UsageProblem: as `prepare_resume` says.
    """
    prepare = partial(prepare_resume, options, wanted, may_reopen=may_reopen)
    with pause_collector():
        location, state = await to_thread.run_sync(prepare)
        gc.freeze()
    if not needs_engine(location, state):
        return RunExit(location.directory, state)
    return await work_on_run(location, watcher)


async def work_on_run(location: RunLocation, watcher: RunWatcher | None = None) -> RunExit:
    """Work on a run until it ends or something stops it; why it stopped is the last thing recorded.

    Raises:
        RunLocked: another process works on it.
    """
    gc.set_threshold(*GC_THRESHOLDS)
    async with open_run(location, watcher) as context:
        try:
            await _record_repository_move(context)
            await settle_open_intents(context)
            context.on_recovered()
            await record_contract_change(context)
            await record_narrow_limits(context)
            await _execute_unless_ended(context)
        except (OrchestrateError, GitError, OSError) as error:
            problem = convert_error(error)
            if problem is None:
                raise
            if not isinstance(problem, JournalProblem | RunTakenOver):
                await context.journal.append(RunPaused(reason=str(problem), exit=problem.exit_code))
            return RunExit(location.directory, context.state, problem)
        return RunExit(location.directory, context.state)


async def _record_repository_move(context: RunContext) -> None:
    root = str(context.repository.root)
    if context.state.run.repository != root:
        await context.journal.append(RepositoryMoved(repository=root))


async def _execute_unless_ended(context: RunContext) -> None:
    if context.state.ended is None and not context.state.cancel_reason:
        await require_run_allowed(context)
        await _execute_until_cancelled(context)
    if context.state.ended is None:
        await end_run(context, "cancelled", context.state.cancel_reason)
    await notify_run_ended(context)


async def _execute_until_cancelled(context: RunContext) -> None:
    """Execute the run until it ends or is cancelled; again if a task is retried just after the run gave up.

    Where a host is lost outside of what can be done again by itself, the run goes on from the journal.
    """
    losses = LossCounter()
    while context.state.ended is None and not context.state.cancel_reason:
        begun = anyio.current_time()
        try:
            await execute_run(context)
        except RunCancelled:
            await CommandConsumer(context.journal, context.directory.inbox).take_pending_commands()
        except HostLost as lost:
            losses.note_loss(lost, anyio.current_time() - begun)


async def execute_run(context: RunContext) -> None:
    """Execute the run to its end; raises as `MigrationRunner` and `GoalRun` do."""
    if context.state.run.recipe is not None:
        from orchestrator.migrate.run.runner import MigrationRunner  # each kind of run loads its own rooms only

        slots = context.command_slots
        await MigrationRunner(context, slots).run_migration()
    elif context.roles is not None:
        from orchestrator.engine.goal.run import GoalRun

        await GoalRun(context, context.roles).run_to_end()


async def record_narrow_limits(context: RunContext) -> None:
    """Record once where a limit that was set leaves workers without a call."""
    if context.roles is None or context.state.ended is not None:
        return
    for limit in find_narrow_limits(context.config):
        code, subject = NoticeCode.NARROW_LIMIT, limit.key
        await record_notice_once(context.journal, Noticed(level="warning", code=code, subject=subject, text=limit.text))


async def record_contract_change(context: RunContext) -> None:
    """Record once which criteria of the project's file the run does not have: its contract stays as it was frozen."""
    state = context.state
    if state.goal.contract is None or state.ended is not None:
        return
    project_criteria = await to_thread.run_sync(read_project_criteria, context.repository.root)
    frozen = state.goal.contract.criteria
    changed = [wanted.id for wanted in project_criteria if wanted.build_criterion() not in frozen]
    text = (
        f"the project's file asks for criteria that this run does not have, or not as they stand there now "
        f"({', '.join(changed)}); its contract stays as it was frozen: orchestrate criterion add or drop changes it"
    )
    if changed:
        notice = Noticed(level="warning", code=NoticeCode.CONTRACT_DIFFERS, paths=tuple(changed), text=text)
        await record_notice_once(context.journal, notice)
