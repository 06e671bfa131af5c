"""What an edited plan changes in a run: pure, on the events of runs that never were."""

from collections.abc import Iterable
from typing import Any

from orchestrator.domain.event import Event
from orchestrator.domain.event.people import ApprovalDecided, ApprovalRequested, PlanEdited
from orchestrator.domain.event.work import (
    PlanKept,
    PlanningStarted,
    PlanSubmitted,
    TaskCreated,
    TaskEnded,
    TaskReplaced,
)
from orchestrator.domain.fold.run import apply_run_event
from orchestrator.domain.ids import ROOT_TASK, TaskId, build_plan_item
from orchestrator.domain.ownership.decisions import DecisionDraft
from orchestrator.domain.planning.edit_check import find_edit_problems
from orchestrator.domain.planning.plan_edits import describe_plan_change, list_plan_changes
from orchestrator.domain.run.approval import Approval
from orchestrator.domain.run.plan import Plan, PlanLimits, Withdrawal
from orchestrator.domain.run.state import RunState
from orchestrator.domain.run.task import TaskDraft
from orchestrator.engine.goal.plan_answers import build_plan_events
from orchestrator.engine.goal.planned_tasks import build_planned_tasks
from tests.running.goal_events import begun

LIMITS = PlanLimits(depth=0)


def draft(key: str, **more: Any) -> TaskDraft:
    """A task of a plan."""
    return TaskDraft(key=key, title=key.upper(), outcome=key, **more)


def plan(*drafts: TaskDraft, **more: Any) -> Plan:
    """A plan of these tasks."""
    return Plan(tasks=drafts, **{"rationale": "because", **more})


def fold(state: RunState, events: Iterable[Event]) -> None:
    """Apply events to a state."""
    for event in list(events):
        apply_run_event(event, state)


def submit(state: RunState, proposed: Plan, number: int = 1) -> Approval:
    """Let the root's planner submit a plan that waits for an answer."""
    item, subject = build_plan_item(ROOT_TASK, number), f"root@{number}"
    question = Approval(item=item, matter="plan", subject=subject, title="the plan", plan=proposed)
    tasks = build_planned_tasks(state.tasks[ROOT_TASK].spec, proposed, run=state)
    created = [TaskCreated(task=one.id, spec=one.model_copy(update={"approval": item})) for one in tasks]
    fold(state, [PlanningStarted(task=ROOT_TASK, round=number)])
    fold(state, [PlanSubmitted(task=ROOT_TASK, round=number, plan=proposed), *created])
    fold(state, [ApprovalRequested(approval=question)])
    return question


def answer(state: RunState, question: Approval, edited: Plan | None = None) -> list[Event]:
    """Approve a plan, and return all that this is."""
    decided = ApprovalDecided(item=question.item, decision="approve", by="ada")
    events = [decided, *build_plan_events(state, decided, edited)]
    fold(state, events)
    return events


def begin_run() -> RunState:
    """A run whose root planner has not planned."""
    state = RunState()
    fold(state, begun())
    return state


def list_words(state: RunState, question: Approval, edited: Plan) -> list[str]:
    """Why an edit is refused."""
    return list(find_edit_problems(state, question, edited, LIMITS))


def test_rivals_are_made_anew_under_the_names_of_those_that_fall_away() -> None:
    state = begin_run()
    question = submit(state, plan(draft("a", best_of=2), draft("b")))
    assert [*state.tasks] == ["root", "a", "a-2", "b"]
    edited = plan(draft("a", best_of=3), draft("b"))
    events = answer(state, question, edited)
    edit = next(event for event in events if isinstance(event, PlanEdited))
    assert edit.withdrawn == ("a", "a-2")
    assert {*state.tasks} == {"root", "a", "a-2", "a-3", "b"}
    assert {task.spec.approval for name, task in state.tasks.items() if name != ROOT_TASK} == {question.item}


def test_what_was_left_as_it_was_is_the_same_task_and_depends_on_what_is_new() -> None:
    state = begin_run()
    question = submit(state, plan(draft("a"), draft("b", depends_on=("a",))))
    before = state.tasks[TaskId("b")]
    answer(state, question, plan(draft("a", paths=("src/**",)), draft("b", depends_on=("a",))))
    assert state.tasks[TaskId("b")] is before
    assert state.tasks[TaskId("a")].spec.paths == ("src/**",)


def test_an_approved_plan_takes_back_and_replaces_as_it_is_answered() -> None:
    state = begin_run()
    answer(state, submit(state, plan(draft("a"), draft("b"), draft("c", depends_on=("b",)))))
    second = plan(draft("d", replaces="b"), draft("e"), cancel=(Withdrawal(key="a", reason="not needed"),))
    question = submit(state, second, 2)
    assert not state.tasks[TaskId("a")].status.is_terminal
    kinds = [type(event) for event in answer(state, question)]
    assert kinds == [ApprovalDecided, TaskEnded, TaskReplaced]
    assert state.tasks[TaskId("c")].spec.depends_on == ("d",)


def test_a_task_for_which_others_wait_has_to_stay() -> None:
    state = begin_run()
    question = submit(state, plan(draft("a"), draft("b")))
    submit(state, plan(draft("c", depends_on=("a",)), draft("d")), 2)
    assert list_words(state, question, plan(draft("b"))) == [
        "task 'a' is gone from the plan, and c depends on it: keep it"
    ]
    assert list_words(state, question, plan(draft("a"))) == []
    taken = list_words(state, question, plan(draft("a"), draft("c")))
    assert taken == ["key 'c' names a task that you submitted before: choose another"]


def test_decisions_that_a_person_strikes_out_hold_no_more_and_what_they_had_ended_does() -> None:
    state = begin_run()
    first = plan(draft("a"), decisions=(DecisionDraft(id="store", text="in a file"),))
    answer(state, submit(state, first))
    second = plan(
        draft("b"),
        rationale="second",
        decisions=(DecisionDraft(id="store", text="in SQLite"), DecisionDraft(id="log", text="none")),
    )
    question = submit(state, second, 2)
    answer(state, question, plan(draft("b"), rationale="mine", decisions=second.decisions[1:]))
    assert {one.id: one.text for one in state.register if one.is_in_force} == {"store": "in a file", "log": "none"}
    assert state.tasks[ROOT_TASK].rationales == ("because", "mine")


def test_a_planner_is_told_of_an_edit_in_its_next_round_alone() -> None:
    state = begin_run()
    question = submit(state, plan(draft("a"), draft("b")))
    answer(state, question, plan(draft("a")))
    assert [edit.heard_in for edit in state.goal.plan_edits] == [None]
    for number in (2, 3):
        fold(state, [PlanningStarted(task=ROOT_TASK, round=number), PlanKept(task=ROOT_TASK, round=number)])
    assert [edit.heard_in for edit in state.goal.plan_edits] == [2]


def test_changes_are_told_by_task_and_field() -> None:
    proposed = plan(draft("a"), draft("b"))
    edited = plan(draft("a", paths=("x",), checks=("make",)), draft("c"), rationale="mine")
    assert list(map(describe_plan_change, list_plan_changes(proposed, edited))) == [
        "dropped b (B)",
        "changed a (A): paths, checks",
        "added c (C)",
        "changed the plan's own words: rationale",
    ]
    assert list_plan_changes(proposed, proposed) == ()
