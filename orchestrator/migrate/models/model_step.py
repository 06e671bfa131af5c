"""A step whose files a model edits: each file as a task of the run, several at a time, one attempt each.

What an earlier process had done of it is not done again: the journal tells how far each file's attempt has come.
"""

from collections import deque
from collections.abc import Sequence

import anyio

from orchestrator.domain.event.work import PlanningEnded, PlanningStarted
from orchestrator.domain.handoff import Handoff
from orchestrator.domain.ids import CommitId
from orchestrator.domain.migration import FileRecord
from orchestrator.domain.state import RunState
from orchestrator.domain.task import TaskStatus
from orchestrator.engine.approvals import meet_limit
from orchestrator.engine.context import RunContext
from orchestrator.engine.stopping import require_going
from orchestrator.errors import LimitReached, Paused, UsageProblem
from orchestrator.migrate.models.file_try import FileTry
from orchestrator.migrate.models.gathering import ModelPass
from orchestrator.migrate.models.leaves import created_step, step_task
from orchestrator.migrate.models.weighing import Further, no_further
from orchestrator.migrate.recipe import Recipe
from orchestrator.ports.roles import Roles


async def run_model_step(
    context: RunContext,
    recipe: Recipe,
    rung: int,
    attempt: int,
    files: Sequence[FileRecord],
    start: CommitId,
    further: Further = no_further,
) -> None:
    """Let a model try each file once; afterwards the journal has each file's new status.

    Args:
        context: the run.
        recipe: its recipe.
        rung: the step's place in the ladder.
        attempt: which of the step's attempts this is, from 1.
        files: none if an earlier process died when it had tried them all.
        start: the commit that the files start from.
        further: what else must hold of a change before it may go to the queue.

    Raises:
        LimitReached: a budget of the run, the role or the model is spent; the files not tried wait for a larger one.
        PersonNeeded: somebody paused the run.
        ProviderDown: no model can be asked now.
    """
    at = ModelPass(recipe, rung, attempt, start)
    roles = context.roles
    if roles is None:
        raise UsageProblem(f"step {at.step.id} asks a model, and this process has none: stop the run and resume it")
    if not await _begin(context, at, files):
        return
    waiting = deque(files)
    while waiting:
        stop = await _all(context, roles, at, waiting, further)
        require_going(context)
        if isinstance(stop, LimitReached):
            await meet_limit(context, stop)
    task = step_task(at.step)
    summary = f"attempt {attempt} of {at.step.attempts} at {len(files)} files"
    ended = PlanningEnded(task=task, round=context.state.tasks[task].rounds, handoff=Handoff(summary=summary))
    await context.journal.append(ended)


async def _begin(context: RunContext, at: ModelPass, files: Sequence[FileRecord]) -> bool:
    """Book that the step begins, unless an earlier process did; whether there is anything to do or to finish."""
    created, task = created_step(at.recipe, at.step), step_task(at.step)
    state = context.state.tasks.get(task)
    if state is not None and state.status == TaskStatus.PLANNING:
        return True
    if not files:
        return False
    is_new = state is None or state.spec != created.spec
    rounds = 0 if state is None or is_new else state.rounds
    await context.journal.append(*([created] if is_new else []), PlanningStarted(task=task, round=rounds + 1))
    return True


def _is_wanted(state: RunState, path: str) -> bool:
    """Whether no person has left a file out, held its shard or had it tried again while it waited."""
    shard = state.shard_of(path)
    is_kept_back = state.files[path].status.is_terminal or (shard is not None and bool(shard.held))
    return not is_kept_back and state.files[path].after_wave != state.wave_under_way


async def _all(
    context: RunContext, roles: Roles, at: ModelPass, waiting: deque[FileRecord], further: Further
) -> LimitReached | Paused | None:
    """Try files until none waits or something stops it. What was begun then goes on to its next call."""
    stops: list[LimitReached | Paused] = []

    async def work() -> None:
        while waiting and not stops and not context.state.is_draining and context.state.held is None:
            file = waiting.popleft()
            if not _is_wanted(context.state, file.path):
                continue
            try:
                await FileTry(context, roles, at, file, further).carry_out()
            except (LimitReached, Paused) as stop:
                stops.append(stop)
                waiting.append(file)

    async with anyio.create_task_group() as tasks:
        for _ in range(min(context.config.run.max_workers, len(waiting))):
            tasks.start_soon(work)
    return stops[0] if stops else None
