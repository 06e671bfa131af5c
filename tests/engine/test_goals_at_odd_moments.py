"""What people say of a goal while planners end, the judge waits for an answer, and the run comes to its end."""

import time
from collections.abc import Iterator
from pathlib import Path
from threading import Timer
from typing import Any

import anyio
import pytest

from orchestrator.domain.commands.definitions import AddCriterion, Approve, Cancel, Command, InboxCommand, Reject, Retry
from orchestrator.domain.event.people import CommandTaken
from orchestrator.domain.event.work import ModelFailed
from orchestrator.domain.ids import TaskId
from orchestrator.domain.run.contract import Criterion
from orchestrator.domain.run.task import TaskStatus
from orchestrator.hands.workspace import LocalWorkspace
from orchestrator.journal.inbox import Inbox
from orchestrator.llm.scripted_model.script import ScriptedReply
from tests.engine.test_people import events, question, say
from tests.engine.test_people_at_odd_moments import REJECTED
from tests.running.goals import Bench, When, status, task
from tests.running.scripts import judges, planner_ends, plans, uses, writes

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(240)]

REVIEW = {"mode": "review", "tests": []}
MORE = AddCriterion(criterion=Criterion(id="b", text="b is there"))


def misses(name: str, *met: str) -> ScriptedReply:
    """The judge calls all met, and misses a criterion in the contract."""
    findings = [{"id": one, "met": True, "evidence": "the receipts of gate"} for one in ("goal", "gate", *met)]
    proposals = [{"id": name, "text": f"{name} is there"}]
    return uses("judge", "root", "submit_verdict", decision="done", findings=findings, reasons=[], proposals=proposals)


@pytest.mark.parametrize(
    ("answer", "met"),
    [(Approve(item="contract/1"), ("docs", "b")), (Reject(item="contract/1"), ("b",))],
    ids=["yes", "no"],
)
async def test_an_answer_about_the_contract_holds_for_what_was_asked_alone(
    bench: Bench, answer: Command, met: tuple[str, ...]
) -> None:
    begun = [plans("root", {"key": "a"}), *task("a"), planner_ends(), misses("docs")]
    asked = await bench.run(*begun, approval=REVIEW)
    assert question(asked) == "contract/1"
    say(bench, answer)
    say(bench, MORE)
    again = await bench.resume(*begun, misses("more", *met), approval=REVIEW)
    assert question(again).startswith("contract/1+"), "the judge misses another one in what was changed"


async def test_a_slice_that_is_cancelled_as_its_planner_ends_is_not_begun(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual, told = LocalWorkspace._clear_places, list[int]()

    async def slow(self: Any) -> None:
        """The planner's workspace is cleared away no faster than a person can say something."""
        if self._purpose == "planning s" and not told:
            told.append(1)
            say(bench, Cancel(task=TaskId("s")))
            await anyio.sleep(1.0)
        await usual(self)

    monkeypatch.setattr(LocalWorkspace, "_clear_places", slow)
    ended = await bench.run(
        *(plans("root", {"key": "s", "kind": "branch"}), plans("s", {"key": "a"}, {"key": "b"})),
        *(*task("s/a"), *task("s/b"), planner_ends("s"), plans("root", {"key": "c"}), *task("c")),
        *(planner_ends(), judges()),
    )
    assert ended.exit_code == 0, ended.error
    assert {status(ended, name) for name in ("s", "s/a", "s/b")} == {TaskStatus.CANCELLED}


@pytest.mark.extended
async def test_a_retry_in_the_last_moment_of_a_run_is_carried_out(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual, over = Inbox.iterate_commands, list[int]()

    def slow(self: Inbox) -> Iterator[tuple[Path, InboxCommand]]:
        """The inbox is listed as slowly as on a busy disk."""
        time.sleep(1.0 if over else 0.5)
        return iter(list(usual(self)))

    def retry(_: object) -> None:
        over.append(1)
        say(bench, Retry(task=TaskId("a")))

    monkeypatch.setattr(Inbox, "iterate_commands", slow)
    ended = await bench.run(
        *(plans("root", {"key": "a"}, {"key": "b"}), *REJECTED, *task("b"), planner_ends(), judges()),
        *(*task("a"), judges()),
        when=When("run.ended", retry),
    )
    assert ended.state.ended
    assert ended.state.ended.outcome == "done", ended.state.ended


@pytest.mark.extended
async def test_a_retry_that_is_refused_interrupts_nobody(bench: Bench) -> None:
    slow = writes("a", "a.txt", "a\n").model_copy(update={"delay_s": 4})
    later = When("attempt.started", lambda _: Timer(1, say, (bench, Retry(task=TaskId("root")))).start())
    ended = await bench.run(plans("root", {"key": "a"}), slow, *task("a"), planner_ends(), judges(), when=later)
    (taken,) = events(ended, CommandTaken)
    assert taken.refused
    assert events(ended, ModelFailed) == []


async def test_a_question_about_a_plan_that_was_cancelled_waits_for_nobody(bench: Bench) -> None:
    items = [
        *(plans("root", {"key": "s", "kind": "branch"}), plans("s", {"key": "a"}, {"key": "b"})),
        *(plans("root", {"key": "c"}), *task("c"), planner_ends(), judges()),
    ]
    review = REVIEW | {"max_tasks": 1}
    asked = await bench.run(*items, approval=review)
    assert question(asked) == "plan/s@1"
    say(bench, Cancel(task=TaskId("s")))
    again = await bench.resume(*items, approval=review)
    assert again.exit_code == 0, again.error


async def test_a_pull_request_that_more_has_landed_for_is_asked_about_as_it_is_now(bench: Bench) -> None:
    items = [plans("root", {"key": "a"}, {"key": "b"}), *REJECTED, *task("b"), planner_ends(), judges()]
    asked = await bench.run(*items, approval={"mode": "pr"})
    before = question(asked)
    say(bench, Retry(task=TaskId("a")))
    again = await bench.resume(*items, *task("a"), judges(), approval={"mode": "pr"})
    assert status(again, "a") == TaskStatus.MERGED
    assert question(again) != before
