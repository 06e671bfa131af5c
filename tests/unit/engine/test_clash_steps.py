"""How a task goes on whose work clashed: by its workers, then by the arbiter, then not at all."""

from orchestrator.domain.commands.definitions import Retry
from orchestrator.domain.event.landing import UnitEjected
from orchestrator.domain.event.work import AttemptEnded, CandidateTaken, VerdictGiven
from orchestrator.domain.ids import ROOT_TASK, CommitId, TaskId, TreeId, build_unit_id
from orchestrator.domain.judging.verdict import Verdict, VerdictKind
from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.domain.run.task import Attempt, AttemptMode, Clash, EndCause, Exit, Task, TaskStatus
from orchestrator.engine.goal.actions import Action, EndTask, StartAttempt
from orchestrator.engine.goal.schedule import ScheduleLimits, list_due_actions
from orchestrator.engine.merging.clash_steps import choose_clash_mode, list_counted_exits

A, MOST = TaskId("a"), 2
CLASH = Clash(base=CommitId("base"), candidate=CommitId("own"))
LANDED = UnitEjected(round="r", unit=build_unit_id(A, 1), conflict=("x.py",))
RED = Verdict(kind=VerdictKind.REVISE, reasons=("red",), cause=EndCause.RED_TESTS)
LOST = Verdict(kind=VerdictKind.RESTART, reasons=("stuck",), cause=EndCause.UNFINISHED)


def tried(*steps: tuple[AttemptMode, Verdict | UnitEjected, Exit]) -> TaskState:
    """A task whose attempts had these modes, and were refused or ejected in the end."""
    spec = Task(id=A, parent=ROOT_TASK, depth=1, kind="leaf", title="a", outcome="a")
    state = TaskState(spec=spec, status=TaskStatus.JUDGING)
    for number, (mode, end, how) in enumerate(steps, start=1):
        clash = None if mode == "fresh" else CLASH
        attempt = Attempt(task=A, number=number, mode=mode, base=CommitId("b"), model="m", clash=clash)
        own = {"commit": CommitId("c"), "tree": TreeId("t"), "ref": "r", "paths": (), "added": 1, "removed": 0}
        taken = CandidateTaken.model_validate({"key": "k~0", "task": A, "number": number, **own})
        state = state.model_copy(
            update={
                "attempts": (*state.attempts, attempt),
                "candidates": (*state.candidates, taken),
                "ends": (*state.ends, AttemptEnded(task=A, number=number, exit=how)),
            }
        )
        if isinstance(end, Verdict):
            given = (*state.verdicts, VerdictGiven(task=A, number=number, verdict=end))
            state = state.model_copy(update={"verdicts": given, "status": TaskStatus.JUDGING})
        else:
            ejected = (*state.ejections, end.model_copy(update={"unit": build_unit_id(A, number)}))
            state = state.model_copy(update={"ejections": ejected, "status": TaskStatus.QUEUED})
    return state


def due(state: TaskState) -> Action:
    (action,) = list_due_actions(RunState(tasks={A: state}), ScheduleLimits(1, MOST), frozenset())
    return action


FIRST, AGAIN = ("fresh", LANDED, Exit.FINISHED), ("rebase", LANDED, Exit.FINISHED)


def test_work_that_clashed_is_rebased_twice_and_then_the_arbiter_s() -> None:
    assert choose_clash_mode(tried(FIRST), MOST) == choose_clash_mode(tried(FIRST, AGAIN), MOST) == "rebase"
    third = tried(FIRST, AGAIN, AGAIN)
    assert (choose_clash_mode(third, MOST), due(third)) == ("arbitrate", StartAttempt(A))
    assert list_counted_exits(third) == (0, []), "none of it uses up an attempt"


def test_a_rebase_that_is_refused_is_revised_as_any_work_and_the_arbiter_follows_the_last_attempt() -> None:
    red = ("rebase", RED, Exit.FINISHED)
    assert choose_clash_mode(tried(FIRST, red), MOST) is None
    assert choose_clash_mode(tried(FIRST, red, ("revise", RED, Exit.FINISHED)), MOST) == "arbitrate"
    assert choose_clash_mode(tried(FIRST, ("rebase", LOST, Exit.STUCK)), MOST) == "rebase", "its thread is lost"


def test_after_the_arbiter_a_task_ends_unless_only_its_model_failed() -> None:
    before = (FIRST, AGAIN, AGAIN)
    for last in (("arbitrate", RED, Exit.FINISHED), ("arbitrate", LANDED, Exit.FINISHED)):
        ended = due(tried(*before, last))
        assert isinstance(ended, EndTask)
        assert (ended.status, ended.cause) == (TaskStatus.REJECTED, EndCause.CONFLICT)
    broken = ("arbitrate", LOST, Exit.MALFORMED)
    assert choose_clash_mode(tried(*before, broken), MOST) == "arbitrate"
    ended = due(tried(*before, broken, broken))
    assert isinstance(ended, EndTask)
    assert ended.status == TaskStatus.BLOCKED


def test_what_a_hook_refuses_is_gone_on_with_but_counts_as_any_attempt() -> None:
    vetoed = LANDED.model_copy(update={"conflict": (), "is_vetoed": True})
    once = tried(("fresh", vetoed, Exit.FINISHED))
    assert choose_clash_mode(once, MOST) == "rebase"
    ended = due(tried(("fresh", vetoed, Exit.FINISHED), ("rebase", vetoed, Exit.FINISHED)))
    assert isinstance(ended, EndTask)
    assert (ended.status, ended.cause) == (TaskStatus.REJECTED, EndCause.REFUSED_BY_HOOK)


def test_a_task_that_a_person_has_tried_again_keeps_the_work_that_clashed() -> None:
    lost = tried(FIRST, AGAIN, AGAIN, ("arbitrate", RED, Exit.FINISHED))
    retry = Retry(task=A)
    assert choose_clash_mode(lost.model_copy(update={"retry": retry, "earlier_attempts": 4}), MOST) == "rebase"
