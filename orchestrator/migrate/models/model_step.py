"""A step whose files a model edits: each file as a task of the run, several at a time, one attempt each.

What an earlier process had done of it is not done again: the journal tells how far each file's attempt has come.
"""

from collections import defaultdict, deque
from collections.abc import Sequence

import anyio

from orchestrator.domain.event.work import PlanningEnded, PlanningStarted
from orchestrator.domain.ids import CommitId
from orchestrator.domain.migration.files import FileRecord
from orchestrator.domain.recipe.model import Recipe
from orchestrator.domain.run.state import RunState
from orchestrator.domain.run.task import Handoff, TaskStatus
from orchestrator.engine.context import RunContext
from orchestrator.engine.control.approvals import ask_to_raise_limit
from orchestrator.engine.control.stop_signals import require_not_stopping
from orchestrator.engine.lost_hosts import LossCounter
from orchestrator.errors import HostLost, LimitReached, PausedByPerson, UsageProblem
from orchestrator.migrate.models.attempt import FileAttempt
from orchestrator.migrate.models.context import ModelPass
from orchestrator.migrate.models.file_tasks import build_step_task, build_step_task_id
from orchestrator.ports.roles import Roles


async def run_model_step(
    context: RunContext, recipe: Recipe, rung: int, attempt: int, files: Sequence[FileRecord], start: CommitId
) -> None:
    """Let a model try each file once; afterwards the journal has each file's new status.

    Args:
        context: the run.
        recipe: its recipe.
        rung: the step's place in the ladder.
        attempt: which of the step's attempts this is, from 1.
        files: none if an earlier process died when it had tried them all.
        start: the commit that the files start from.

    Raises:
        LimitReached: a budget of the run, the role or the model is spent; the files not tried wait for a larger one.
        PersonNeeded: somebody paused the run.
        ProviderDown: no model can be asked now.
    """
    at = ModelPass(recipe, rung, attempt, start)
    roles = context.roles
    if roles is None:
        raise UsageProblem(f"step {at.step.id} asks a model, and this process has none: stop the run and resume it")
    if not await _begin_step(context, at, files):
        return
    waiting = deque(files)
    while waiting:
        stop = await _try_files(context, roles, at, waiting)
        require_not_stopping(context)
        if isinstance(stop, LimitReached):
            await ask_to_raise_limit(context, stop)
    task = build_step_task_id(at.step)
    summary = f"attempt {attempt} of {at.step.attempts} at {len(files)} files"
    ended = PlanningEnded(task=task, round=context.state.tasks[task].rounds, handoff=Handoff(summary=summary))
    await context.journal.append(ended)


async def _begin_step(context: RunContext, at: ModelPass, files: Sequence[FileRecord]) -> bool:
    """Record that the step begins, unless an earlier process did.

    Return True if there is anything to do or to finish.
    """
    created, task = build_step_task(at.recipe, at.step), build_step_task_id(at.step)
    state = context.state.tasks.get(task)
    if state is not None and state.status == TaskStatus.PLANNING:
        return True
    if not files:
        return False
    if state is None or state.spec != created.spec:
        await context.journal.append(created, PlanningStarted(task=task, round=1))
    else:
        await context.journal.append(PlanningStarted(task=task, round=state.rounds + 1))
    return True


def _is_wanted(state: RunState, path: str) -> bool:
    """Return True if no person has left a file out, held its shard or had it tried again while it waited."""
    shard = state.migration.find_shard_of_file(path)
    is_kept_back = state.migration.files[path].status.is_terminal or (shard is not None and bool(shard.held))
    return not is_kept_back and state.migration.files[path].after_wave != state.migration.current_wave_number


async def _try_files(
    context: RunContext, roles: Roles, at: ModelPass, waiting: deque[FileRecord]
) -> LimitReached | PausedByPerson | None:
    """Try files until none waits or something stops it. What was begun then goes on to its next call.

    An attempt whose host is lost goes on from the journal.
    """
    stops: list[LimitReached | PausedByPerson] = []
    losses = defaultdict[str, LossCounter](LossCounter)

    async def run_attempts() -> None:
        while waiting and not stops and not context.state.is_draining and context.state.user_pause is None:
            file = waiting.popleft()
            if not _is_wanted(context.state, file.path):
                continue
            begun = anyio.current_time()
            try:
                await FileAttempt(context, roles, at, file).run_attempt()
            except (LimitReached, PausedByPerson) as stop:
                stops.append(stop)
                waiting.append(file)
            except HostLost as lost:
                losses[file.path].note_loss(lost, anyio.current_time() - begun)
                waiting.appendleft(file)

    async with anyio.create_task_group() as tasks:
        for _ in range(min(context.config.run.max_workers, len(waiting))):
            tasks.start_soon(run_attempts)
    return stops[0] if stops else None
