"""A planner whose context fills in the middle of its work goes on in the same round, and its plan lands."""

from typing import Any

import pytest

from orchestrator.app.run_execution import RunExit
from orchestrator.domain.event.work import (
    ContextFilled,
    ConversationCarriedOver,
    PlanSubmitted,
    SessionStarted,
    TurnEnded,
)
from orchestrator.domain.ids import TaskId
from orchestrator.domain.run.task import TaskStatus
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.llm.scripted_model.script import ScriptedReply
from tests.loopback.builders import call, reply
from tests.running.conversations import ConversationWatch
from tests.running.goals import Bench, status, task
from tests.running.projects import git
from tests.running.scripts import judges, planner_ends, plans, uses, write_script

pytestmark = pytest.mark.sandbox
GOAL = "make it better"
FOUND = "calc.py:5 doubles by adding"
PLANNING = "plan:root@1.1"
"""The session of the root planner's first round."""


def look(number: int) -> ScriptedReply:
    """A planner's turn whose words stay: three of them fill a context of 12,000 tokens beside what it is told."""
    words = f"Look {number}. {'.' * 10_000}"
    return reply(words, role="planner", task="root", call=[call("read", path="calc.py", start=number + 1)])


CARRIED = uses("planner", "root", "carry_over", state="half of it was read", findings=[FOUND], remaining=["plan a"])
PLANNER = [*map(look, range(3)), CARRIED, look(3), plans("root", {"key": "a"}), planner_ends()]


async def run_planner(bench: Bench, *, resumes: bool = False, **flags: Any) -> RunExit:
    """A run whose root planner carries its conversation over once before it submits its plan."""
    model = {"model": write_script(bench.root / "others.json", [*task("a"), judges()])}
    roles: dict[str, Any] = {"worker": model, "judge": model}
    roles["planner"] = {"model": write_script(bench.root / "planner.json", PLANNER), "context_tokens": 12_000}
    if resumes:
        return await bench.resume(roles=roles, **flags)
    return await bench.run(roles=roles, **flags)


def list_events(ended: RunExit, kind: type) -> list[Any]:
    """The events of the planner's first session, or of its task."""
    events = [recorded.event for recorded in read_all_events(ended.directory.journal)]
    return [event for event in events if isinstance(event, kind) and getattr(event, "session", PLANNING) == PLANNING]


def check_landed(ended: RunExit) -> None:
    """The plan of the planner's only conversation landed, and no attempt or round more than without a carryover."""
    assert (ended.exit_code, status(ended, "a")) == (0, TaskStatus.MERGED), ended.error
    assert len(ended.state.tasks[TaskId("a")].attempts) == 1
    assert git(bench_of(ended), "show", f"{ended.state.head}:a.txt") == "a"
    assert [event.turn for event in list_events(ended, ContextFilled)] == [3]
    assert [event.turn for event in list_events(ended, ConversationCarriedOver)] == [4]
    assert [event.turn for event in list_events(ended, TurnEnded)] == [0, 1, 2, 3, 4, 5]
    assert len(list_events(ended, SessionStarted)) == 1, "it is one conversation"
    assert [(event.task, event.round) for event in list_events(ended, PlanSubmitted)] == [("root", 1)]
    assert ended.state.tasks[TaskId("root")].rounds == 2


def bench_of(ended: RunExit) -> Any:
    """The repository of a run."""
    return ended.state.run.repository


async def test_a_planner_carries_its_conversation_over_and_its_plan_lands(
    bench: Bench, conversation_watch: ConversationWatch
) -> None:
    ended = await run_planner(bench)
    check_landed(ended)
    (filled,) = list_events(ended, ContextFilled)
    assert 0.8 * filled.context_tokens < filled.tokens <= filled.context_tokens
    (planning,) = [watched for watched in conversation_watch.finished if watched.carryovers]
    system, told, carried = (message.text for message in planning.latest[:3])
    assert system.startswith("You are a planner")
    assert f"The goal of the whole run\n{GOAL}\n" in told
    assert FOUND in carried
    assert not any("Look 2." in message.text for message in planning.latest)
    assert any("Look 3." in message.text for message in planning.latest)


@pytest.mark.parametrize(
    "calls",
    [
        pytest.param(2, marks=pytest.mark.extended, id="before it"),
        pytest.param(3, marks=pytest.mark.extended, id="where it is asked for"),
        pytest.param(4, id="after it"),
        pytest.param(5, marks=pytest.mark.extended, id="in the fresh context"),
    ],
)
async def test_a_run_that_stops_around_the_carryover_of_a_planner_goes_on_with_it(
    bench: Bench, conversation_watch: ConversationWatch, calls: int
) -> None:
    stopped = await run_planner(bench, budget={"calls": calls})
    assert stopped.exit_code != 0
    assert len(list_events(stopped, TurnEnded)) <= calls
    assert not list_events(stopped, PlanSubmitted)
    ended = await run_planner(bench, resumes=True, budget={"calls": 50})
    check_landed(ended)
    latest = [watched.latest for watched in conversation_watch.finished if FOUND in str(watched.latest)][-1]
    assert f"The goal of the whole run\n{GOAL}\n" in latest[1].text
    assert FOUND in latest[2].text
