"""Build the attempt that goes on with work which the queue ejected, in words that a worker can act on."""

from collections.abc import Iterator, Sequence

from orchestrator.domain.event.landing import UnitEjected
from orchestrator.domain.run.state import TaskState
from orchestrator.domain.run.task import Attempt, AttemptMode
from orchestrator.engine.context import RunContext
from orchestrator.engine.merging.clash_start import prepare_clash_start
from orchestrator.engine.person_reviews import build_review_for_attempt
from orchestrator.judge.gate.flakiness import UNSETTLED_TESTS_TEXT
from orchestrator.ports.roles import Roles

_MOST_TESTS = 12


async def build_clash_attempt(
    context: RunContext, roles: Roles, task: TaskState, mode: AttemptMode, answers: Sequence[str]
) -> Attempt:
    """Return the next attempt, which begins with the task's own work merged onto the tip of the branch.

    `answers` are what people said to wishes of the task's workers.

    Raises:
        PersonNeeded: somebody moved the branch away from what has landed, or made it red.
    """
    review = await build_review_for_attempt(context, task)
    role = roles.arbiter if mode == "arbitrate" else roles.worker
    begun = await prepare_clash_start(context, task)
    return Attempt(
        task=task.spec.id,
        number=len(task.attempts) + 1,
        mode=mode,
        base=begun.base,
        model=role.get_model_name(task.spec.variant),
        start=begun.start,
        feedback=(*_explain_clash(task), *answers),
        handoff=task.handoff,
        note=task.retry.note if task.retry else "",
        review=review,
        clash=begun.clash,
    )


def _explain_clash(task: TaskState) -> Iterator[str]:
    """Yield why the work was ejected, and what was found in the attempt that tried to bring it together."""
    if task.ejections:
        yield from explain_ejection(task.ejections[-1])
    if task.ejection is None and task.verdict is not None:
        yield from task.verdict.verdict.reasons


def explain_ejection(ejection: UnitEjected) -> tuple[str, ...]:
    """Return why the queue ejected a candidate, in words for whoever goes on with it."""
    if ejection.conflict:
        return (f"what landed meanwhile changed the same lines in {', '.join(ejection.conflict)}",)
    if ejection.difference.is_unsettled:
        unsettled = ", ".join(ejection.difference.unsettled[:_MOST_TESTS])
        return (f"together with what landed meanwhile there are {UNSETTLED_TESTS_TEXT}: {unsettled}",)
    broken = (*ejection.difference.new_failures, *ejection.difference.missing_tests)
    if ejection.difference.problems and not broken:
        return ejection.difference.problems
    shown = ", ".join(broken[:_MOST_TESTS]) or "the gate"
    return (f"together with what landed meanwhile it breaks {shown}", *ejection.difference.problems)
