"""The way in which candidates of tasks become the commits that land."""

from collections.abc import Sequence
from functools import partial

from orchestrator.domain.ids import CommitId, TaskId, UnitId
from orchestrator.engine.commits import build_task_message
from orchestrator.engine.context import RunContext
from orchestrator.queue.composition import ConflictResolver, MergeComposer, RemadeFiles


def build_landing_composer(
    context: RunContext,
    tasks: Sequence[TaskId],
    resolver: ConflictResolver | None = None,
    remade: RemadeFiles | None = None,
) -> MergeComposer:
    """Return what composes the candidates of tasks; conflicts that `resolver` can resolve are none.

    What that made anew goes to `remade`, where it is given.
    """
    candidates: dict[UnitId, CommitId] = {}
    for name in tasks:
        task = context.state.tasks[name]
        if task.candidate is not None:
            candidates[task.unit] = task.candidate.commit
    return MergeComposer(
        context.repository.git,
        candidates,
        partial(build_task_message, context.state),
        context.commit_date,
        names_candidates=False,
        union=context.config.merge.union,
        resolver=resolver,
        remade={} if remade is None else remade,
    )
