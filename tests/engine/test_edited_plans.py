"""Plans that people edit as they approve them: what they made of a plan is carried out, and its planner hears of it."""

from typing import Any

import pytest

from orchestrator.app.run_execution import RunExit
from orchestrator.domain.commands.definitions import Approve, Cancel, Command, Reject, Retry, SendBack
from orchestrator.domain.event.people import CommandTaken, PlanEdited
from orchestrator.domain.event.work import AttemptStarted, PlanSubmitted, SessionStarted
from orchestrator.domain.ids import TaskId
from orchestrator.domain.run.plan import Plan, Withdrawal
from orchestrator.domain.run.task import EndCause, TaskDraft, TaskStatus
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.run_control.control import send_command
from tests.engine.test_replay import again
from tests.running.goals import Bench, status, task
from tests.running.scripts import judges, planner_ends, plans, uses, worker_ends

pytestmark = pytest.mark.sandbox
LARGE = {"mode": "review", "max_tasks": 1, "paths": [], "tests": []}
TWO = plans("root", {"key": "a"}, {"key": "b"})
FAILS = [worker_ends("bad", "I could not")]
END = [planner_ends(), judges()]


def say(bench: Bench, command: Command) -> None:
    """Leave a command for the latest run."""
    send_command(RunDirectory(max(bench.root.glob("state/*/runs/*"))), command, by="ada")


def draft(key: str, **more: Any) -> TaskDraft:
    """A task as a person writes it."""
    return TaskDraft(key=key, title=key, outcome=f"{key} is there", **more)


def list_events(ended: RunExit, kind: type[Any]) -> list[Any]:
    """The events of a kind, in order."""
    return [one.event for one in read_all_events(ended.directory.journal) if isinstance(one.event, kind)]


def list_waiting(ended: RunExit) -> list[str]:
    """What the run asks."""
    return [one.approval.item for one in ended.state.pending_approvals]


def list_refusals(ended: RunExit) -> list[str]:
    """What became of the answers: why each was refused, empty for those that were taken."""
    answers = [one for one in list_events(ended, CommandTaken) if isinstance(one.command, Approve)]
    return [one.refused for one in answers]


async def test_an_edited_plan_is_carried_out_and_what_was_dropped_never_begins(bench: Bench) -> None:
    assert list_waiting(await bench.run(TWO, approval=LARGE)) == ["plan/root@1"]
    proposed = list_events(await bench.resume(TWO), PlanSubmitted)[0].plan
    edited = Plan(rationale="mine", tasks=(proposed.tasks[0], draft("c")))
    say(bench, Approve(item="q1", plan=edited))
    done = await bench.resume(TWO, *task("a"), *task("c"), *END)
    assert (done.exit_code, status(done, "a"), status(done, "c")) == (0, TaskStatus.MERGED, TaskStatus.MERGED)
    (edit,) = list_events(done, PlanEdited)
    assert (edit.task, edit.round, edit.by, edit.plan, edit.proposed) == ("root", 1, "ada", edited, proposed)
    assert edit.withdrawn == ("b",), "what the person left as it was is not made anew"
    assert {one.attempt.task for one in list_events(done, AttemptStarted)} == {"a", "c"}
    assert TaskId("b") not in done.state.tasks
    told = [one.brief.head for one in list_events(done, SessionStarted) if one.session == "plan:root@1.2"]
    assert "The person who follows the run changed your plan of round 1" in told[0]
    assert "dropped b (b)" in told[0]
    assert "added c (c)" in told[0]


@pytest.mark.extended
async def test_the_plan_of_a_planner_below_can_be_edited_too(bench: Bench) -> None:
    branch = plans("root", {"key": "part", "kind": "branch"})
    below = plans("part", {"key": "a"}, {"key": "b"})
    assert list_waiting(await bench.run(branch, below, approval=LARGE)) == ["plan/part@1"]
    say(bench, Approve(item="plan/part@1", plan=Plan(rationale="one is enough", tasks=(draft("a"),))))
    done = await bench.resume(branch, below, *task("part/a"), planner_ends("part"), *END)
    assert (done.exit_code, status(done, "part/a")) == (0, TaskStatus.MERGED)
    assert TaskId("part/b") not in done.state.tasks


@pytest.mark.extended
async def test_a_plan_that_became_wrong_is_refused_with_a_reason_and_the_question_stays_open(bench: Bench) -> None:
    asked = await bench.run(TWO, approval=LARGE)
    for edited in (
        Plan(rationale="", tasks=(draft("a", depends_on=("ghost",)),)),
        Plan(rationale="", tasks=(draft("a"),), cancel=(Withdrawal(key="b", reason="no"),)),
        Plan(rationale="", tasks=()),
    ):
        say(bench, Approve(item="q1", plan=edited))
    again = await bench.resume(TWO)
    assert list_waiting(again) == list_waiting(asked) == ["plan/root@1"]
    refused = list_refusals(again)
    assert all("the plan does not fit the run as it is now, and q1 still waits" in words for words in refused)
    assert "'ghost', which is not in the plan" in refused[0]
    assert "there is no task 'b' to take back" in refused[1]
    assert "the plan holds no task" in refused[2]
    assert set(again.state.tasks) == {"root", "a", "b"}


@pytest.mark.extended
async def test_a_task_that_has_begun_meanwhile_stays_in_the_plan_as_it_was(bench: Bench) -> None:
    await bench.run(TWO, approval=LARGE)
    say(bench, Cancel(task=TaskId("b")))
    say(bench, Retry(task=TaskId("b")))
    await bench.resume(TWO, *task("b"))
    say(bench, Approve(item="q1", plan=Plan(rationale="", tasks=(draft("a"),))))
    again = await bench.resume(TWO, *task("b"))
    assert "task 'b' has begun meanwhile" in list_refusals(again)[0]
    assert status(again, "a") == TaskStatus.PLANNED


FIRST = plans("root", {"key": "bad"}, {"key": "long"}, {"key": "next", "depends_on": ["long"]})
SECOND = uses(
    "planner",
    "root",
    "submit_plan",
    rationale="c does it",
    tasks=[{"key": key, "title": key, "outcome": key} for key in ("c", "d")],
    cancel=[{"key": "next", "reason": "c does it"}],
)


async def run_to_second_plan(bench: Bench) -> RunExit:
    """A run whose second plan waits, and takes back a task that waits for one that may not land yet."""
    items = [FIRST, *FAILS, *task("long"), SECOND]
    await bench.run(*items, approval=LARGE | {"paths": ["long.txt"]}, run={"max_attempts": 1})
    say(bench, Approve(item="plan/root@1"))
    asked = await bench.resume(*items)
    assert list_waiting(asked) == ["plan/root@2", "landing/long@1"]
    assert status(asked, "next") == TaskStatus.PLANNED, "nothing of the plan happens before the answer"
    return asked


@pytest.mark.extended
async def test_what_a_waiting_plan_takes_back_falls_away_with_the_answer(bench: Bench) -> None:
    asked = await run_to_second_plan(bench)
    assert "takes back next: c does it" in asked.state.approvals["plan/root@2"].approval.detail
    say(bench, Approve(item="plan/root@2"))
    again = await bench.resume(FIRST, *FAILS, *task("long"), SECOND, *task("c"), *task("d"))
    assert (status(again, "next"), again.state.tasks[TaskId("next")].cause) == (
        TaskStatus.CANCELLED,
        EndCause.WITHDRAWN,
    )


@pytest.mark.extended
async def test_a_person_can_keep_what_the_planner_takes_back(bench: Bench) -> None:
    await run_to_second_plan(bench)
    say(bench, Approve(item="plan/root@2", plan=Plan(rationale="", tasks=(draft("c"),))))
    say(bench, Approve(item="landing/long@1"))
    done = await bench.resume(FIRST, *FAILS, *task("long"), SECOND, *task("c"), *task("next"), *END)
    assert (done.exit_code, status(done, "next"), status(done, "c")) == (0, TaskStatus.MERGED, TaskStatus.MERGED)


@pytest.mark.extended
@pytest.mark.parametrize("answer", ["edit", "send-back", "approve", "reject"])
async def test_a_run_in_which_a_plan_was_answered_is_done_over_the_same(bench: Bench, answer: str) -> None:
    await bench.run(TWO, approval=LARGE)
    if answer == "send-back":
        say(bench, SendBack(item="q1", note="c in the place of b"))
        second = plans("root", {"key": "a"}, {"key": "c"})
        await bench.resume(TWO, second)
        say(bench, Approve(item="q2"))
        done = await bench.resume(TWO, second, *task("a"), *task("c"), *END)
    elif answer == "edit":
        say(bench, Approve(item="q1", plan=Plan(rationale="mine", tasks=(draft("a"), draft("c")))))
        done = await bench.resume(TWO, *task("a"), *task("c"), *END)
    elif answer == "reject":
        say(bench, Reject(item="q1", reason="another way"))
        done = await bench.resume(TWO, planner_ends())
    else:
        say(bench, Approve(item="q1"))
        done = await bench.resume(TWO, *task("a"), *task("b"), *END)
    assert done.state.ended is not None
    report = await again(bench)
    assert (report.exit_code, report.divergences, report.replayed_outcome) == (0, (), done.state.ended.outcome)
