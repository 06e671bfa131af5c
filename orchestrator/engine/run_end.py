"""The end of a run: the one event that says how it went, and what stopped its tasks."""

from orchestrator.domain.event.run import RunEnded
from orchestrator.domain.run.state import RunState
from orchestrator.domain.run.task import EndCause
from orchestrator.domain.run_outcome import RunEndCause, RunOutcome
from orchestrator.domain.text.listing import join_limited
from orchestrator.engine.context import RunContext
from orchestrator.engine.field_guide import save_field_guide

_FOLLOWED = frozenset({EndCause.DEPENDENCY, EndCause.CANCELLED, EndCause.LEFT_BEHIND, EndCause.NOT_CHOSEN})
_SHOWN = 10
_FAILED: tuple[RunOutcome, ...] = ("rejected", "nothing-changed", "failed", "cancelled")
OUTCOME_EXIT_CODES: dict[RunOutcome, int] = {"done": 0, "partial": 3, "blocked": 6, **dict.fromkeys(_FAILED, 4)}


def describe_infrastructure_stops(state: RunState) -> str:
    """Return what ended each task where none ended for its work; empty if one did, or none was stopped at all.

    Tasks that only fell with others, or that a person gave up, do not count.
    """
    stopped = []
    for task in state.tasks.values():
        if task.status.is_terminal and not task.status.is_reached and task.cause not in _FOLLOWED:
            if not (task.cause and task.cause.is_infrastructure):
                return ""
            stopped.append(f"{task.spec.id} ({task.cause})")
    return join_limited(stopped, _SHOWN)


async def end_run(context: RunContext, outcome: RunOutcome, reason: str, cause: RunEndCause | None = None) -> None:
    """Record the end, after what the run stands for is in the field guide."""
    await save_field_guide(context)
    code, head = OUTCOME_EXIT_CODES[outcome], context.state.head
    await context.journal.append(RunEnded(outcome=outcome, reason=reason, exit=code, head=head, cause=cause))
