"""The changes that events of a verifier make to the state of its task."""

from functools import singledispatch

from orchestrator.domain.event import verification
from orchestrator.domain.event.base import Event
from orchestrator.domain.fold.record_updates import update_task
from orchestrator.domain.frozen_model import copy_with_changes
from orchestrator.domain.judging.verifier_tests import Contest, VerificationState
from orchestrator.domain.run.state import RunState, TaskState


@singledispatch
def apply_verification_event(event: Event, state: RunState) -> None:
    """Apply one event of a verifier."""


def _get_verified_task(state: RunState, event: Event) -> tuple[TaskState, VerificationState]:
    task = state.tasks.get(event.task) if event.task else None
    if task is None or task.verification is None:
        raise ValueError(f"{event.kind} names task {event.task!r}, which no verifier has begun with")
    return task, task.verification


def _update_verification(state: RunState, task: TaskState, **changes: object) -> None:
    if task.verification is not None:
        update_task(state, task, verification=copy_with_changes(task.verification, **changes))


@apply_verification_event.register
def _(event: verification.VerificationStarted, state: RunState) -> None:
    if event.task is None or event.task not in state.tasks:
        raise ValueError(f"{event.kind} names task {event.task!r}, which was never created")
    update_task(state, state.tasks[event.task], verification=VerificationState(base=event.base))


@apply_verification_event.register
def _(event: verification.VerifierTestsTried, state: RunState) -> None:
    task, known = _get_verified_task(state, event)
    _update_verification(state, task, trials=(*known.trials, event.trial))


@apply_verification_event.register
def _(event: verification.VerificationEnded, state: RunState) -> None:
    task, _ = _get_verified_task(state, event)
    _update_verification(state, task, exit=event.exit, detail=event.detail, files=event.files)


@apply_verification_event.register
def _(event: verification.TestContested, state: RunState) -> None:
    task, known = _get_verified_task(state, event)
    contest = Contest(number=event.number, test=event.test, why=event.why)
    _update_verification(state, task, contests=(*known.contests, contest))


@apply_verification_event.register
def _(event: verification.ContestDecided, state: RunState) -> None:
    task, known = _get_verified_task(state, event)
    decided = {"is_dropped": event.is_dropped, "reasons": event.reasons}
    contests = []
    for contest in known.contests:
        is_meant = contest.test == event.test and contest.is_dropped is None
        contests.append(copy_with_changes(contest, **(decided if is_meant else {})))
    _update_verification(state, task, contests=tuple(contests))
