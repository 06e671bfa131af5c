"""The first planner is asked while the gate runs on the base; nobody works before that is known."""

from collections.abc import Sequence

import pytest

from orchestrator.app.run_execution import RunExit
from orchestrator.domain.commands.definitions import Approve
from orchestrator.domain.event import Event
from orchestrator.domain.event.run import BaselineRecorded
from orchestrator.domain.event.work import AttemptStarted, ModelCalled, ModelFailed, SessionStarted, WorkspaceLeasing
from orchestrator.domain.run.task import TaskStatus
from orchestrator.errors import EnvironmentProblem
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.llm.scripted_model.script import ScriptedReply
from orchestrator.run_control.control import send_command
from tests.running.goals import Bench, one, status
from tests.running.projects import GATE, GATE_FLAGS
from tests.running.scripts import planner_ends

pytestmark = pytest.mark.sandbox
SLOW = GATE_FLAGS | {"command": f"sleep 0.4; {GATE}"}
SLOW_RED = {"command": "sleep 0.2; false", "report": "exit-code"}
UNDER_WAY = "the gate's run on the base is still under way"


def list_events(ended: RunExit) -> Sequence[Event]:
    return [recorded.event for recorded in read_all_events(ended.directory.journal)]


def find_place(ended: RunExit, kind: type[Event]) -> int:
    """The place of the first event of a kind."""
    return next(place for place, event in enumerate(list_events(ended)) if isinstance(event, kind))


def find_brief(ended: RunExit) -> str:
    """The brief of the first planner."""
    started = list_events(ended)[find_place(ended, SessionStarted)]
    assert isinstance(started, SessionStarted)
    return started.brief.head


def think_long(*replies: ScriptedReply) -> list[ScriptedReply]:
    """The same replies, of which the first takes far longer than any gate here."""
    first, *others = replies
    return [first.model_copy(update={"delay_s": 60.0}), *others]


async def test_a_planner_is_asked_before_the_gate_has_run_and_a_worker_after_it(bench: Bench) -> None:
    ended = await bench.run(*one("a"), gate=SLOW)
    assert (ended.exit_code, status(ended, "a")) == (0, TaskStatus.MERGED)
    places = [find_place(ended, kind) for kind in (ModelCalled, BaselineRecorded, AttemptStarted)]
    assert places == sorted(places)
    assert UNDER_WAY in find_brief(ended)


async def test_checkouts_begin_once_the_planner_is_asked(bench: Bench) -> None:
    ended = await bench.run(*one("a"), gate=SLOW)
    assert find_place(ended, ModelCalled) < find_place(ended, WorkspaceLeasing)


@pytest.mark.extended
async def test_a_planner_is_told_of_the_tests_where_an_earlier_run_has_tested_the_base(bench: Bench) -> None:
    await bench.run(planner_ends())
    ended = await bench.run(planner_ends())
    assert find_place(ended, BaselineRecorded) < find_place(ended, ModelCalled)
    assert "with 2 tests in the gate's run on the base" in find_brief(ended)


async def test_a_gate_that_cannot_judge_cancels_the_call_of_the_planner(bench: Bench) -> None:
    gate = {"command": "sleep 0.2; nonsense-command", "report": "auto"}
    ended = await bench.run(*think_long(*one("a")), gate=gate)
    assert isinstance(ended.error, EnvironmentProblem)
    assert "was not found in the sandbox" in str(ended.error)
    (failed,) = (event for event in list_events(ended) if isinstance(event, ModelFailed))
    assert (ended.exit_code, failed.error) == (7, "lost")


@pytest.mark.extended
async def test_a_question_about_a_red_gate_cancels_the_planner_who_goes_on_after_the_answer(bench: Bench) -> None:
    ended = await bench.run(*think_long(*one("a")), gate=SLOW_RED)
    (asked,) = ended.state.pending_approvals
    assert (ended.exit_code, status(ended, "root")) == (6, TaskStatus.PLANNING)

    send_command(ended.directory, Approve(item=asked.approval.item))
    ended = await bench.resume(*one("a"), gate=SLOW_RED)
    assert "a" in ended.state.tasks


@pytest.mark.extended
async def test_a_contract_with_commands_waits_for_the_base(bench: Bench) -> None:
    contract = [{"id": "built", "command": "true"}]
    ended = await bench.run(planner_ends(), gate=SLOW, contract=contract)
    assert find_place(ended, BaselineRecorded) < find_place(ended, ModelCalled)
