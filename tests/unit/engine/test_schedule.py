"""What is due in which state of a run."""

from dataclasses import replace

from orchestrator.domain.event.landing import UnitEjected
from orchestrator.domain.event.work import AttemptEnded, VerdictGiven
from orchestrator.domain.ids import ROOT_TASK, CommitId, TaskId, build_unit_id
from orchestrator.domain.judging.check import Difference
from orchestrator.domain.judging.verdict import Verdict, VerdictKind
from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.domain.run.task import Attempt, AttemptMode, EndCause, Exit, Task, TaskStatus
from orchestrator.engine.goal.actions import (
    Action,
    ChooseRival,
    ContinueAttempt,
    EndTask,
    JudgeAttempt,
    LandTasks,
    PlanRound,
    StartAttempt,
)
from orchestrator.engine.goal.chain_lengths import compute_chain_lengths
from orchestrator.engine.goal.schedule import ScheduleLimits, list_due_actions

BOUNDS = ScheduleLimits(max_workers=2, max_attempts=3)
A, B, C = TaskId("a"), TaskId("b"), TaskId("c")


def task(
    name: TaskId,
    status: TaskStatus,
    *,
    after: tuple[TaskId, ...] = (),
    attempts: int = 0,
    verdict: tuple[VerdictKind, ...] = (),
    ejected: bool = False,
    parent: TaskId | None = ROOT_TASK,
    kind: str = "leaf",
) -> TaskState:
    spec = Task.model_validate(
        {"id": name, "parent": parent, "depth": 1, "kind": kind, "title": "", "outcome": "", "depends_on": after}
    )
    mode: AttemptMode = "fresh"
    tried = tuple(
        Attempt(task=name, number=number, mode=mode, base=CommitId("c"), model="m") for number in range(1, attempts + 1)
    )
    given = [VerdictGiven(task=name, number=attempts, verdict=Verdict(kind=k, reasons=("why",))) for k in verdict]
    thrown = (UnitEjected(round="r", unit=build_unit_id(name, attempts), difference=Difference()),)
    return TaskState(
        spec=spec,
        status=status,
        attempts=tried,
        verdicts=tuple(given),
        ejections=thrown if ejected else (),
    )


def state(*tasks: TaskState, draining: bool = False) -> RunState:
    return RunState(tasks={one.spec.id: one for one in tasks}, is_draining=draining)


def ask(*tasks: TaskState, busy: tuple[Action, ...] = (), draining: bool = False) -> list[Action]:
    return list_due_actions(state(*tasks, draining=draining), BOUNDS, frozenset(busy))


def test_a_planned_leaf_starts_and_a_planned_branch_is_planned() -> None:
    assert ask(task(A, TaskStatus.PLANNED), task(B, TaskStatus.PLANNED, kind="branch")) == [
        StartAttempt(A),
        PlanRound(B),
    ]


def test_a_task_waits_until_what_it_depends_on_has_landed() -> None:
    waiting = task(B, TaskStatus.PLANNED, after=(A,))
    assert ask(task(A, TaskStatus.QUEUED, attempts=1), waiting) == [LandTasks((A,))]
    assert ask(task(A, TaskStatus.MERGED, attempts=1), waiting) == [StartAttempt(B)]


def test_a_task_whose_dependency_was_rejected_is_cancelled_with_the_reason() -> None:
    actions = ask(task(A, TaskStatus.REJECTED), task(B, TaskStatus.PLANNED, after=(A,)))
    assert actions == [EndTask(B, TaskStatus.CANCELLED, "it depends on a, which was rejected", EndCause.DEPENDENCY)]


def test_no_more_workers_than_allowed() -> None:
    tasks = [task(name, TaskStatus.PLANNED) for name in (A, B, C)]
    assert ask(*tasks) == [StartAttempt(A), StartAttempt(B)]
    assert ask(*tasks, busy=(StartAttempt(A),)) == [StartAttempt(B)]


def test_what_a_dead_process_left_running_is_gone_on_with() -> None:
    assert ask(task(A, TaskStatus.RUNNING, attempts=1)) == [ContinueAttempt(A)]
    assert ask(task(A, TaskStatus.PLANNING, kind="branch")) == [PlanRound(A)]
    assert ask(task(A, TaskStatus.JUDGING, attempts=1)) == [JudgeAttempt(A)]


def test_what_is_busy_is_not_due_again() -> None:
    assert ask(task(A, TaskStatus.RUNNING, attempts=1), busy=(StartAttempt(A),)) == []


def test_verdicts_lead_to_another_attempt_or_to_the_end() -> None:
    def after(kind: VerdictKind, attempts: int = 1) -> list[Action]:
        return ask(task(A, TaskStatus.JUDGING, attempts=attempts, verdict=(kind,)))

    assert after(VerdictKind.REVISE) == after(VerdictKind.RESTART) == [StartAttempt(A)]
    assert after(VerdictKind.REJECT) == [EndTask(A, TaskStatus.REJECTED, "why")]
    assert after(VerdictKind.ESCALATE) == [EndTask(A, TaskStatus.BLOCKED, "why")]
    assert after(VerdictKind.SPLIT) == [EndTask(A, TaskStatus.SPLIT, "why")]
    last = after(VerdictKind.REVISE, attempts=3)
    text = "no attempt of 3 could land; the last: why"
    assert last == [EndTask(A, TaskStatus.REJECTED, text, EndCause.NO_ATTEMPT_LEFT)], "an old journal names no cause"


def tried(*exits: Exit, cause: EndCause | None = EndCause.RED_TESTS, earlier: int = 0) -> TaskState:
    """A task whose attempts ended so, and whose last one was not let through."""
    one = task(A, TaskStatus.JUDGING, attempts=len(exits), verdict=(VerdictKind.RESTART,))
    ends = tuple(AttemptEnded(task=A, number=number, exit=how) for number, how in enumerate(exits, start=1))
    given = one.verdicts[0].model_copy(update={"verdict": one.verdicts[0].verdict.model_copy(update={"cause": cause})})
    return one.model_copy(update={"ends": ends, "verdicts": (given,), "earlier_attempts": earlier})


def how_it_ends(one: TaskState) -> tuple[TaskStatus, EndCause | None] | None:
    (action,) = ask(one)
    return (action.status, action.cause) if isinstance(action, EndTask) else None


def test_a_task_without_attempts_left_ends_for_what_its_last_one_failed_of() -> None:
    assert how_it_ends(tried(*[Exit.FINISHED] * 3)) == (TaskStatus.REJECTED, EndCause.RED_TESTS)
    assert how_it_ends(tried(*[Exit.FINISHED] * 3, earlier=1)) is None, "a person had it tried again"
    red = task(A, TaskStatus.QUEUED, attempts=4, verdict=(VerdictKind.MERGE,), ejected=True)
    unsure = red.ejections[0].model_copy(update={"difference": Difference(unsettled=("t",))})
    doubtful = red.model_copy(update={"ejections": (unsure,)})
    assert how_it_ends(doubtful) == (TaskStatus.BLOCKED, EndCause.UNSETTLED_TESTS)


def test_a_task_that_no_session_has_room_for_is_split_and_one_that_was_done_and_refused_is_not() -> None:
    short = (Exit.OUT_OF_TURNS, Exit.OUT_OF_CONTEXT, Exit.OUT_OF_TURNS)
    assert how_it_ends(tried(*short)) == (TaskStatus.SPLIT, EndCause.TOO_LARGE)
    assert how_it_ends(tried(*[Exit.FINISHED] * 3, *short[1:])) == (TaskStatus.REJECTED, EndCause.RED_TESTS)
    assert how_it_ends(tried(Exit.FINISHED, *short[1:])) is None
    assert how_it_ends(tried(*short[1:])) is None


def test_what_a_model_or_its_provider_fails_at_uses_up_no_attempt_and_rejects_nothing() -> None:
    broken = (Exit.MALFORMED, Exit.REFUSED)
    assert how_it_ends(tried(Exit.FINISHED, Exit.FINISHED, *broken)) is None
    refused = tried(*broken, Exit.FINISHED, Exit.REFUSED, cause=EndCause.MODEL_REFUSED)
    assert how_it_ends(refused) == (TaskStatus.BLOCKED, EndCause.MODEL_REFUSED)
    assert how_it_ends(tried(*broken, *[Exit.FINISHED] * 3)) == (TaskStatus.REJECTED, EndCause.RED_TESTS)


def test_an_ejected_candidate_is_tried_again_and_not_queued_again() -> None:
    assert ask(task(A, TaskStatus.QUEUED, attempts=1, verdict=(VerdictKind.MERGE,), ejected=True)) == [StartAttempt(A)]


def test_landing_is_one_at_a_time() -> None:
    queued = task(A, TaskStatus.QUEUED, attempts=1), task(B, TaskStatus.QUEUED, attempts=1)
    assert ask(*queued) == [LandTasks((A, B))]
    assert ask(*queued, busy=(LandTasks((C,)),)) == []


def test_a_planner_is_woken_when_all_its_tasks_have_ended() -> None:
    planner = task(B, TaskStatus.WAITING, kind="branch")
    child = task(TaskId("b/x"), TaskStatus.RUNNING, attempts=1, parent=B)
    done = child.model_copy(update={"status": TaskStatus.MERGED})
    assert ask(planner, child) == [ContinueAttempt(TaskId("b/x"))]
    assert ask(planner, done) == [PlanRound(B)]


def test_while_draining_or_on_a_spent_budget_only_verdicts_and_landings_are_due() -> None:
    tasks = (
        task(A, TaskStatus.PLANNED),
        task(B, TaskStatus.JUDGING, attempts=1),
        task(C, TaskStatus.QUEUED, attempts=1),
    )
    assert ask(*tasks, draining=True) == [JudgeAttempt(B), LandTasks((C,))]
    spent = replace(BOUNDS, finish_only=True)
    assert list_due_actions(state(*tasks), spent, frozenset()) == [JudgeAttempt(B), LandTasks((C,))]


def test_of_many_tasks_those_begin_first_for_which_the_most_waits() -> None:
    c, d, e = TaskId("c"), TaskId("d"), TaskId("e")
    late = task(TaskId("d/x"), TaskStatus.PLANNED, parent=d)
    whole = state(
        task(ROOT_TASK, TaskStatus.WAITING, parent=None, kind="branch"),
        task(A, TaskStatus.PLANNED),
        task(B, TaskStatus.PLANNED),
        task(c, TaskStatus.PLANNED, after=(B,)),
        task(d, TaskStatus.WAITING, kind="branch"),
        task(e, TaskStatus.PLANNED, after=(d,)),
        task(TaskId("f"), TaskStatus.PLANNED, after=(e,)),
        late,
    )
    lengths = compute_chain_lengths(whole)
    assert [lengths[name] for name in (A, B, c, late.spec.id, e)] == [1, 2, 1, 3, 2]
    bounds = replace(BOUNDS, chain_lengths=lengths)
    assert list_due_actions(whole, bounds, frozenset()) == [StartAttempt(B), StartAttempt(late.spec.id)]


def test_a_chain_of_thousands_is_measured() -> None:
    names = [TaskId(f"t{number}") for number in range(3_000)]
    links = [task(name, TaskStatus.PLANNED, after=tuple(names[at - 1 : at])) for at, name in enumerate(names)]
    assert compute_chain_lengths(state(*links))[names[0]] == 3_000


def test_no_more_planners_are_at_work_than_may() -> None:
    slices = [task(TaskId(f"s{number}"), TaskStatus.PLANNED, kind="branch") for number in range(5)]
    bounds, busy = replace(BOUNDS, max_planners=2), PlanRound(TaskId("s0"))
    assert list_due_actions(state(*slices), bounds, frozenset({busy})) == [PlanRound(TaskId("s1"))]


def test_a_task_waits_for_the_end_of_those_of_other_slices_that_go_first() -> None:
    first = task(A, TaskStatus.RUNNING, attempts=1)
    second = task(B, TaskStatus.PLANNED)
    second = second.model_copy(update={"spec": second.spec.model_copy(update={"after": (A,)})})
    assert list_due_actions(state(first, second), BOUNDS, frozenset()) == [ContinueAttempt(A)]
    ended = first.model_copy(update={"status": TaskStatus.REJECTED})
    assert list_due_actions(state(ended, second), BOUNDS, frozenset()) == [StartAttempt(B)]


def rival(one: TaskState, **changes: object) -> TaskState:
    """The task as one of those that try the same as `a`."""
    return one.model_copy(update={"spec": one.spec.model_copy(update={"rival_of": A}), **changes})


def test_a_rival_that_passed_waits_for_the_others_and_then_one_of_them_is_chosen() -> None:
    passed = rival(task(A, TaskStatus.QUEUED, attempts=1)), rival(task(B, TaskStatus.QUEUED, attempts=1))
    assert ask(passed[0], rival(task(B, TaskStatus.RUNNING, attempts=1))) == [ContinueAttempt(B)]
    assert ask(*passed) == [ChooseRival(A, (A, B))]
    assert ask(*passed, draining=True) == [ChooseRival(A, (A, B))]
    assert ask(*passed, busy=(ChooseRival(A, (A, B)),)) == []


def test_only_the_chosen_rival_lands() -> None:
    chosen = rival(task(B, TaskStatus.QUEUED, attempts=1), is_chosen=True)
    assert ask(rival(task(A, TaskStatus.CANCELLED, attempts=1)), chosen) == [LandTasks((B,))]


def test_what_depends_on_a_rival_that_failed_waits_while_another_one_may_land() -> None:
    failed, waiting = rival(task(A, TaskStatus.REJECTED, attempts=1)), task(C, TaskStatus.PLANNED, after=(A,))
    assert ask(failed, rival(task(B, TaskStatus.QUEUED, attempts=1)), waiting) == [ChooseRival(A, (B,))]
    assert ask(failed, rival(task(B, TaskStatus.REJECTED, attempts=1)), waiting) == [
        EndTask(C, TaskStatus.CANCELLED, "it depends on a, which was rejected", EndCause.DEPENDENCY)
    ]


def test_a_planner_hears_of_rivals_only_when_none_of_them_can_land() -> None:
    planner = task(ROOT_TASK, TaskStatus.WAITING, parent=None, kind="branch")
    failed = rival(task(A, TaskStatus.REJECTED, attempts=1), end_number=1)
    other = task(C, TaskStatus.RUNNING, attempts=1)
    assert ask(planner, failed, rival(task(B, TaskStatus.RUNNING, attempts=1)), other) == [
        ContinueAttempt(B),
        ContinueAttempt(C),
    ]
    both = failed, rival(task(B, TaskStatus.REJECTED, attempts=1), end_number=2)
    assert ask(planner, *both, other) == [PlanRound(ROOT_TASK), ContinueAttempt(C)]
