"""Answers of people: what is sent back goes on with the same worker or planner, what is rejected is remembered."""

from typing import Any

import pytest

from orchestrator.app.run_execution import RunExit
from orchestrator.domain.commands.definitions import Approve, Cancel, Command, Reject, Retry, SendBack
from orchestrator.domain.event.people import ApprovalRequested, CommandTaken
from orchestrator.domain.event.work import SessionStarted
from orchestrator.domain.ids import TaskId
from orchestrator.domain.run.person_review import ReviewComment
from orchestrator.domain.run.task import TaskStatus
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.run_control.control import send_command
from tests.running.goals import TWO, Bench, reason, status, task
from tests.running.projects import git
from tests.running.scripts import judges, planner_ends, plans, reviews, worker_ends, writes

pytestmark = pytest.mark.sandbox

REVIEW = {"mode": "review", "paths": ["a.txt"], "tests": []}
FIRST = [plans("root", {"key": "a"}), *task("a")]
LAST = [planner_ends(), judges()]
BETTER = [writes("a", "a.txt", "better\n"), worker_ends("a"), reviews("a")]


def say(bench: Bench, command: Command) -> None:
    """Leave a command for the latest run."""
    send_command(RunDirectory(max(bench.root.glob("state/*/runs/*"))), command, by="ada")


def events(ended: RunExit, kind: type[Any]) -> list[Any]:
    return [one.event for one in read_all_events(ended.directory.journal) if isinstance(one.event, kind)]


def waiting(ended: RunExit) -> list[str]:
    return [f"{one.id} {one.approval.item}" for one in ended.state.pending_approvals]


def refusals(ended: RunExit) -> list[str]:
    return [taken.refused for taken in events(ended, CommandTaken)]


def conversation(ended: RunExit, session: str) -> SessionStarted:
    (started,) = [event for event in events(ended, SessionStarted) if event.session == session]
    assert isinstance(started, SessionStarted)
    return started


async def test_what_is_sent_back_goes_on_with_the_same_worker_and_is_asked_about_again(bench: Bench) -> None:
    run = {"max_attempts": 1, "max_workers": 4}
    assert waiting(await bench.run(*FIRST, *LAST, approval=REVIEW, run=run)) == ["q1 landing/a@1"]
    comment = ReviewComment(path="a.txt", line=1, text="say what it is")
    say(bench, SendBack(item="landing/a@1", note="make it better", comments=(comment,)))
    again = await bench.resume(*FIRST, *BETTER, *LAST)
    assert waiting(again) == ["q2 landing/a@2"], "one attempt is allowed, and what a person sent back counts as none"
    attempt, told = again.state.tasks[TaskId("a")].attempts[1], conversation(again, "work:a@2")
    assert (attempt.mode, attempt.start) == ("sent-back", again.state.tasks[TaskId("a")].candidates[0].commit)
    assert told.continues == "work:a@1"
    assert "make it better\na.txt:1 `a`: say what it is" in told.brief.head
    say(bench, Approve(item="landing/a@2"))
    done = await bench.resume(*FIRST, *BETTER, *LAST)
    assert (done.exit_code, git(bench.repository, "show", f"{done.state.run.branch}:a.txt")) == (0, "better")


async def test_a_rejected_task_keeps_the_reason_for_a_worker_that_tries_it_again(bench: Bench) -> None:
    await bench.run(*FIRST, *LAST, approval=REVIEW)
    say(bench, Reject(item="q1", reason="keep the old format"))
    ended = await bench.resume(*FIRST, *LAST)
    assert (status(ended, "a"), "keep the old format" in reason(ended, "a")) == (TaskStatus.REJECTED, True)
    say(bench, Retry(task=TaskId("a")))
    again = await bench.resume(*FIRST, *BETTER, *LAST)
    assert waiting(again) == ["q2 landing/a@2"]
    told = conversation(again, "work:a@2")
    assert "A person rejected what an earlier attempt made" in told.brief.head
    assert ("keep the old format" in told.brief.head, told.continues) == (True, None)


async def test_a_plan_that_is_sent_back_is_made_anew_in_the_same_conversation(bench: Bench) -> None:
    large = {"mode": "review", "max_tasks": 1, "paths": [], "tests": []}
    assert waiting(await bench.run(*TWO, approval=large, plan={"max_rounds": 2})) == ["q1 plan/root@1"]
    say(bench, SendBack(item="plan/root@1", note="leave out b, do c"))
    items = [TWO[0], plans("root", {"key": "a"}, {"key": "c"}), *task("a"), *task("c"), *LAST]
    again = await bench.resume(*items)
    assert waiting(again) == ["q2 plan/root@2"]
    told = conversation(again, "plan:root@1.2")
    assert (told.continues, "leave out b, do c" in told.brief.head) == ("plan:root@1.1", True)
    assert set(again.state.tasks) == {"root", "a", "c"}
    say(bench, Approve(item="plan/root@2"))
    done = await bench.resume(*items)
    assert (done.exit_code, status(done, "c")) == (0, TaskStatus.MERGED), "the round sent back counts against no limit"


async def test_an_answer_that_a_question_does_not_take_is_refused_with_those_it_takes(bench: Bench) -> None:
    await bench.run(*FIRST, *LAST, approval={"mode": "pr"})
    say(bench, SendBack(item="q1", note="another title"))
    say(bench, SendBack(item="q7", note="x"))
    refused = refusals(await bench.resume(*FIRST, *LAST))
    assert "cannot be sent back" in refused[0]
    assert refused[0].endswith(": approve or reject")
    assert "nothing is asked under the name 'q7'; waiting: q1 pull-request/" in refused[1]


async def test_sending_back_needs_words(bench: Bench) -> None:
    await bench.run(*FIRST, *LAST, approval=REVIEW)
    say(bench, SendBack(item="landing/a@1", note=" "))
    refused = refusals(await bench.resume(*FIRST, *LAST))
    assert refused[0].startswith("say what is to be changed before q1 is sent back")


async def test_the_question_of_a_cancelled_task_closes_itself_and_the_run_goes_on(bench: Bench) -> None:
    both = [plans("root", {"key": "a"}, {"key": "b"}), *task("a"), *task("b"), *LAST]
    assert waiting(await bench.run(*both, approval=REVIEW)) == ["q1 landing/a@1"]
    say(bench, Cancel(task=TaskId("a")))
    say(bench, Approve(item="landing/a@1"))
    ended = await bench.resume(*both)
    assert (ended.exit_code, status(ended, "b"), waiting(ended)) == (0, TaskStatus.MERGED, [])
    assert refusals(ended)[1] == "q1 landing/a@1 is closed: the task was cancelled; waiting: nothing"
    assert len(events(ended, ApprovalRequested)) == 1
