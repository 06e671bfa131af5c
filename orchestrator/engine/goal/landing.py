"""Landing the tasks that the judge let through."""

from collections.abc import Sequence

from orchestrator.domain.ids import CommitId, TaskId, UnitId, parse_unit_task
from orchestrator.domain.text.sanitization import sanitize_title
from orchestrator.engine.context import RunContext
from orchestrator.queue.composition import MergeComposer
from orchestrator.queue.lander import Lander, TargetedSearchOptions
from orchestrator.queue.landing_round import LandingResult


async def land_tasks(context: RunContext, tasks: Sequence[TaskId]) -> LandingResult:
    """Return one round of the queue over these tasks, in this order."""
    candidates: dict[UnitId, CommitId] = {}
    for name in tasks:
        task = context.state.tasks[name]
        if task.candidate is not None:
            candidates[task.unit] = task.candidate.commit
    composer = MergeComposer(
        context.repository.git, candidates, lambda unit: _build_message(context, unit), context.commit_date
    )
    lander = Lander(context.journal, context.gate, context.branch, context.hooks)
    round_name = f"round {len(context.state.trials) + 1}"
    targeting = TargetedSearchOptions(ejects_partners=False, lands_flaky=True)
    return await lander.land_units(round_name, tuple(candidates), composer, targeting)


def _build_message(context: RunContext, unit: UnitId) -> str:
    task = context.state.tasks[parse_unit_task(unit)].spec
    return f"{sanitize_title(task.title)}\n\nOrchestrate-Run: {context.state.run.run}\nOrchestrate-Task: {unit}\n"
