"""People and a run: approvals, pauses, retries and cancellations, taken from the inbox once and acted upon."""

from typing import Any

import pytest

from orchestrator.app.run_execution import RunExit
from orchestrator.domain.commands.definitions import (
    Approve,
    Cancel,
    Command,
    Configure,
    Continue,
    Pause,
    Reject,
    Retry,
    Stop,
)
from orchestrator.domain.event.people import ApprovalDecided, CommandTaken
from orchestrator.domain.event.run import PrOpened
from orchestrator.domain.event.work import ModelCalled, SnapshotTaken, ToolCalled
from orchestrator.domain.ids import TaskId
from orchestrator.domain.run.task import TaskStatus
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.llm.scripted_model.script import ScriptedReply
from orchestrator.run_control.control import send_command
from tests.loopback.builders import reply
from tests.running.goals import TWO, Bench, Hears, When, one, reason, status, task
from tests.running.naps import Nap
from tests.running.projects import git
from tests.running.scripts import judges, planner_ends, plans, reviews, uses, worker_ends, writes

pytestmark = pytest.mark.sandbox


def say(bench: Bench, command: Command, key: str = "") -> None:
    """Leave a command for the latest run."""
    send_command(directory(bench), command, key=key, by="ada")


def directory(bench: Bench) -> RunDirectory:
    return RunDirectory(max(bench.root.glob("state/*/runs/*")))


def events(ended: RunExit, kind: type[Any]) -> list[Any]:
    return [one.event for one in read_all_events(ended.directory.journal) if isinstance(one.event, kind)]


def question(ended: RunExit) -> str:
    assert ended.exit_code == 6, ended.error
    (asked,) = ended.state.pending_approvals
    return asked.approval.item


async def test_the_pull_request_waits_for_an_answer_and_a_second_yes_changes_nothing(bench: Bench) -> None:
    ended = await bench.run(*one("a"), approval={"mode": "pr"})
    item = question(ended)
    assert (item.partition("/")[0], ended.state.pr) == ("pull-request", None)
    say(bench, Approve(item=item), key=f"answer/{item}")
    say(bench, Approve(item=item), key=f"answer/{item}")
    again = await bench.resume(*one("a"))
    assert (again.exit_code, len(events(again, PrOpened)), len(events(again, ApprovalDecided))) == (0, 1, 1)
    assert list(directory(bench).inbox.iterate_commands()) == []


async def test_a_landing_that_is_not_approved_rejects_its_task_with_the_reason(bench: Bench) -> None:
    review = {"mode": "review", "paths": ["a.txt"]}
    ended = await bench.run(*TWO, approval=review)
    assert status(ended, "a") == TaskStatus.QUEUED
    say(bench, Reject(item=question(ended), reason="not this way"))
    again = await bench.resume(*TWO)
    assert (status(again, "a"), status(again, "b")) == (TaskStatus.REJECTED, TaskStatus.CANCELLED)
    assert "not this way" in reason(again, "a")


async def test_only_what_is_large_or_delicate_waits_before_it_lands(bench: Bench) -> None:
    items = [plans("root", {"key": "a"}, {"key": "b"}), *task("a"), *task("b"), planner_ends(), judges()]
    ended = await bench.run(*items, approval={"mode": "review", "paths": ["b.*"]})
    assert (status(ended, "a"), status(ended, "b")) == (TaskStatus.MERGED, TaskStatus.QUEUED)
    assert question(ended) == "landing/b@1"


async def test_a_large_plan_waits_and_its_tasks_begin_only_when_it_is_approved(bench: Bench) -> None:
    ended = await bench.run(*TWO, approval={"mode": "review", "max_tasks": 1})
    assert (question(ended), status(ended, "a")) == ("plan/root@1", TaskStatus.PLANNED)
    say(bench, Approve(item="plan/root@1"))
    assert (await bench.resume(*TWO)).exit_code == 0


async def test_without_an_answer_in_time_the_default_counts(bench: Bench) -> None:
    ended = await bench.run(*one("a"), approval={"mode": "pr", "expires_s": 0.01, "default": "approve"})
    again = await bench.resume(*one("a")) if ended.exit_code == 6 else ended
    (decided,) = events(again, ApprovalDecided)
    assert (again.exit_code, decided.by, decided.decision) == (0, "expiry", "approve")


async def test_a_spent_budget_can_be_raised_by_an_answer(bench: Bench) -> None:
    ended = await bench.run(*one("a"), budget={"calls": 3}, approval={"mode": "review"})
    say(bench, Approve(item=question(ended)))
    again = await bench.resume(*one("a"))
    assert (again.exit_code, again.state.overrides[0]) == (0, {"budget": {"calls": 6}})


async def test_a_paused_run_asks_no_model_until_it_is_continued(bench: Bench) -> None:
    pause = When("attempt.started", lambda _: say(bench, Pause(reason="lunch")))
    slow = [item.model_copy(update={"delay_s": 0.6}) for item in one("a")]
    ended = await bench.run(*slow, when=pause)
    assert (ended.exit_code, str(ended.error).partition(";")[0]) == (6, "paused by ada: lunch")
    calls = ended.state.spend.total.calls
    say(bench, Configure(settings={"run": {"max_workers": 2}}))
    still = await bench.resume(*one("a"), run={})
    assert (still.exit_code, still.state.spend.total.calls > calls) == (0, True), "resume goes on as `continue` does"


async def test_a_rejected_task_is_tried_again_with_a_note_and_opens_the_run_again(bench: Bench) -> None:
    first = [plans("root", {"key": "a"}), writes("a", "a.txt", "a\n"), worker_ends("a"), reviews("a", "reject", "no")]
    rest = [planner_ends(), judges()]
    ended = await bench.run(*first, *rest)
    assert (ended.exit_code, status(ended, "a")) == (4, TaskStatus.REJECTED)
    say(bench, Retry(task=TaskId("a"), note="write it in capitals"))
    again = await bench.resume(*first, *task("a"), *rest)
    assert (again.exit_code, status(again, "a")) == (0, TaskStatus.MERGED)
    assert "write it in capitals" in await _told(again, "work:a@2")


async def test_a_person_grants_what_a_refusal_named_and_the_task_lands(bench: Bench) -> None:
    changes = [writes("a", "tests/data.json", "[2]\n"), worker_ends("a")]
    first = [plans("root", {"key": "a"}), *changes]
    rest = [planner_ends(), judges()]
    (bench.repository / "tests").mkdir(exist_ok=True)
    (bench.repository / "tests" / "data.json").write_text("[1]\n")
    git(bench.repository, "add", "-A")
    git(bench.repository, "commit", "-q", "-m", "data")
    ended = await bench.run(*first, *rest, run={"max_attempts": 1})
    assert status(ended, "a") == TaskStatus.REJECTED
    (needed,) = ended.state.tasks[TaskId("a")].verdicts[-1].verdict.needed_grants
    assert (needed.paths, needed.may) == (("tests/data.json",), ("rewrite",))
    say(bench, Retry(task=TaskId("a"), grants=("tests/data.json:rewrites",)))
    say(bench, Retry(task=TaskId("a"), grants=("tests/data.json:rewrite",)))
    again = await bench.resume(*first, *changes, reviews("a"), *rest)
    assert (again.exit_code, status(again, "a")) == (0, TaskStatus.MERGED)
    assert ["is no grant" in taken.refused for taken in events(again, CommandTaken)][:2] == [True, False]


async def test_an_attempt_forks_from_a_turn_with_the_files_and_the_words_it_had_then(bench: Bench) -> None:
    first = [
        *(plans("root", {"key": "a"}), writes("a", "one.txt", "1\n"), writes("a", "two.txt", "2\n")),
        *(worker_ends("a"), reviews("a", "reject", "two is wrong")),
    ]
    rest = [planner_ends(), judges()]
    await bench.run(*first, *rest)
    say(bench, Retry(task=TaskId("a"), turn=0, note="something else than two"))
    forked = [writes("a", "three.txt", "3\n"), worker_ends("a"), reviews("a")]
    again = await bench.resume(*first, *forked, *rest)
    assert again.exit_code == 0
    names = git(bench.repository, "ls-tree", "--name-only", again.state.run.branch).split()
    assert [name for name in ("one.txt", "two.txt", "three.txt") if name in names] == ["one.txt", "three.txt"]
    assert "something else than two" in await _told(again, "work:a@2")
    assert again.state.tasks[TaskId("a")].attempts[1].mode == "fork"


async def test_a_turn_that_never_was_cannot_be_gone_on_from(bench: Bench) -> None:
    await bench.run(*one("a"))
    say(bench, Retry(task=TaskId("a"), turn=7))
    ended = await bench.resume(*one("a"))
    (taken,) = events(ended, CommandTaken)
    assert "a is merged: there is nothing to try again" in taken.refused


async def test_a_task_is_cancelled_while_it_runs_and_the_others_go_on(bench: Bench) -> None:
    slow = writes("a", "a.txt", "a\n").model_copy(update={"delay_s": 300})
    items = [plans("root", {"key": "a"}, {"key": "b"}), slow, *task("b"), planner_ends(), judges()]
    cancel = When("verdict.given", lambda _: say(bench, Cancel(task=TaskId("a"), reason="not needed")))
    ended = await bench.run(*items, when=cancel)
    assert (ended.exit_code, status(ended, "a"), status(ended, "b")) == (0, TaskStatus.CANCELLED, TaskStatus.MERGED)
    assert "cancelled by ada: not needed" in reason(ended, "a")


async def test_a_whole_run_is_given_up_and_keeps_what_landed(bench: Bench) -> None:
    slow = writes("b", "b.txt", "b\n").model_copy(update={"delay_s": 300})
    items = [plans("root", {"key": "a"}, {"key": "b", "depends_on": ["a"]}), *task("a"), slow]
    cancel = When("landing.finished", lambda _: say(bench, Cancel(reason="another goal")))
    ended = await bench.run(*items, when=cancel)
    assert ended.state.ended is not None
    assert (ended.state.ended.outcome, ended.state.ended.reason) == ("cancelled", "cancelled by ada: another goal")
    assert ended.state.head is not None


async def test_continue_without_a_pause_changes_nothing_and_is_no_mistake(bench: Bench) -> None:
    items: list[ScriptedReply] = one("a")
    await bench.run(*items[:2])
    say(bench, Continue())
    ended = await bench.resume(*items)
    (taken,) = [event for event in events(ended, CommandTaken) if event.command == Continue()]
    assert (taken.refused, ended.exit_code) == ("", 0)


@pytest.mark.parametrize(("command", "said"), [(Stop(), "had ended"), (Reject(item="x"), "x")])
async def test_what_makes_no_sense_is_refused_and_recorded(bench: Bench, command: Command, said: str) -> None:
    items: list[ScriptedReply] = one("a")
    await bench.run(*items[:2])
    say(bench, command)
    ended = await bench.resume(*items)
    (taken,) = [event for event in events(ended, CommandTaken) if event.command == command]
    assert said in taken.refused
    assert ended.exit_code == 0


async def test_settings_changed_while_nobody_works_hold_for_good(bench: Bench) -> None:
    ended = await bench.run(*one("a"), budget={"calls": 2})
    assert ended.exit_code == 5
    await bench.resume(*one("a"), budget={"calls": 4})
    say(bench, Configure(settings={"budget": {"calls": "many"}}))
    again = await bench.resume(budget={})
    assert again.exit_code == 5, "the budget of four calls is still the run's"
    assert any("budget.calls" in taken.refused for taken in events(again, CommandTaken))


async def _told(ended: RunExit, session: str) -> str:
    """What a conversation was told at its beginning."""
    (started,) = [
        one.event
        for one in read_all_events(ended.directory.journal)
        if one.event.kind == "session.started" and getattr(one.event, "session", "") == session
    ]
    brief: str = getattr(started, "brief").head  # noqa: B009
    return brief


@pytest.mark.extended
async def test_a_budget_that_is_raised_while_the_run_comes_to_rest_lets_it_go_on(bench: Bench) -> None:
    def hear(event: object) -> None:
        """One goes on when the other sleeps, and that one when the budget that is spent by then has been raised."""
        match event:
            case ToolCalled(name="shell", task="b"):
                naps["a"].wake_later()
            case SnapshotTaken(task="a", turn=1):
                say(bench, Configure(settings={"budget": {"calls": 50}}))
            case CommandTaken():
                naps["b"].wake_later()

    naps = {name: Nap() for name in "ab"}
    sleeps = [uses("worker", name, "shell", command=nap.command) for name, nap in naps.items()]
    items = [plans("root", {"key": "a"}, {"key": "b"}), *sleeps, *task("a"), *task("b"), planner_ends(), judges()]
    ended = await bench.run(*items, budget={"calls": 4, "reserve": 0}, when=Hears(hear))
    assert (ended.exit_code, status(ended, "a"), status(ended, "b")) == (0, TaskStatus.MERGED, TaskStatus.MERGED)


async def test_only_a_person_adds_to_the_contract_what_the_judge_misses_in_it(bench: Bench) -> None:
    missed = {"id": "docs", "text": "the new option is documented"}
    findings = [{"id": name, "met": True, "evidence": "the receipts of gate"} for name in ("goal", "gate", "docs")]
    first = uses(
        *("judge", "root", "submit_verdict"), decision="done", findings=findings[:2], reasons=[], proposals=[missed]
    )
    second = uses("judge", "root", "submit_verdict", decision="done", findings=findings, reasons=[])
    begun = [plans("root", {"key": "a"}), *task("a"), planner_ends(), first]
    ended = await bench.run(*begun, approval={"mode": "review", "tests": []})
    assert question(ended) == "contract/1"
    assert ended.state.goal.contract and "docs" not in {one.id for one in ended.state.goal.contract.criteria}
    say(bench, Approve(item="contract/1"))
    more = [plans("root", {"key": "d"}), *task("d"), planner_ends(), second]
    again = await bench.resume(*begun, *more)
    assert (again.exit_code, again.state.goal.iteration) == (0, 2)
    assert again.state.goal.contract and again.state.goal.contract.criteria[-1].id == "docs"


@pytest.mark.extended
async def test_the_budget_that_is_spent_is_the_one_that_a_person_is_asked_to_raise(bench: Bench) -> None:
    budget = {"usd": 50.0, "roles": {"worker": {"calls": 1}}}
    ended = await bench.run(*one("a"), budget=budget, approval={"mode": "review", "budget_factor": 1.5})
    assert question(ended) == "budget/roles/worker/calls=2"
    say(bench, Approve(item=question(ended)))
    again = await bench.resume(*one("a"))
    assert (again.exit_code, again.state.overrides[0]) == (0, {"budget": {"roles": {"worker": {"calls": 2}}}})


async def test_a_call_that_is_to_be_tried_again_is_not_while_the_run_is_paused(bench: Bench) -> None:
    down = reply(role="worker", task="a", error="unavailable", retry_after_s=2.0)
    items = [plans("root", {"key": "a"}), down, *task("a"), planner_ends(), judges()]
    pause = When("model.failed", lambda _: say(bench, Pause()))
    ended = await bench.run(*items, when=pause, retry={"tries": 3, "base_s": 0.01})
    assert (ended.exit_code, len(events(ended, ModelCalled))) == (6, 2)


async def test_a_task_that_is_tried_again_right_after_the_run_was_given_up_is_worked_on(bench: Bench) -> None:
    def change_of_mind(event: object) -> None:
        if isinstance(event, ModelCalled) and event.task == "a" and not said:
            said.append("both")
            say(bench, Cancel())
            say(bench, Retry(task=TaskId("a")))

    said: list[str] = []
    slow = writes("a", "b.txt", "b\n").model_copy(update={"delay_s": 60})
    items = [plans("root", {"key": "a"}), slow, *task("a"), planner_ends(), judges()]
    ended = await bench.run(*items, when=Hears(change_of_mind))
    assert (ended.exit_code, status(ended, "a")) == (0, TaskStatus.MERGED), ended.state.ended
