"""What a person says to a worker at work changes its next reply, and what lands: by a server that reads the request.

With `is_now` neither the command nor the model call under way is waited for, and nothing counts as a failure.
"""

from dataclasses import dataclass, field
from threading import Thread
from typing import Any

import pytest

from orchestrator.app.run_execution import RunExit, run_goal
from orchestrator.domain.commands.definitions import Tell
from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.event.people import CommandTaken, WordsDelivered
from orchestrator.domain.event.work import AttemptStarted, ModelCalled, ToolCalled, TurnEnded
from orchestrator.domain.ids import ROOT_TASK, TaskId
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.llm.scripted_model.script import ScriptedReply
from orchestrator.project.options import Options
from orchestrator.run_control.control import send_command
from tests.engine.test_replay import again
from tests.loopback.play import text_of
from tests.loopback.server import LoopbackServer
from tests.running.goals import Bench, task
from tests.running.naps import Nap
from tests.running.projects import GATE_FLAGS, git
from tests.running.scripts import judges, planner_ends, plans, reviews, uses, worker_ends, write_script, writes

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(300)]
WORDS = "write seven instead of six"
OTHERS = [plans("root", {"key": "a"}), reviews("a"), planner_ends(), judges()]


@dataclass
class Listener:
    """A worker's model that writes what the latest words of its conversation ask for, and its first reply's delay."""

    first: ScriptedReply
    asked: list[list[str]] = field(default_factory=list)

    def answer(self, body: dict[str, Any]) -> ScriptedReply:
        """The reply to a request: it depends on nothing but its messages."""
        texts = [text_of(message) for message in body["messages"] if message["role"] == "user"]
        self.asked.append(texts)
        if not any(message["role"] == "assistant" for message in body["messages"]):
            return self.first
        if any("wrote" in text_of(message).lower() for message in body["messages"] if message["role"] == "tool"):
            return worker_ends("a")
        return writes("a", "a.txt", "seven\n" if "write seven" in texts[-1] else "six\n")


@dataclass
class Teller:
    """Says something as soon as the worker's command or model call is under way, and wakes the command afterwards."""

    bench: Bench
    at: type[ModelCalled] | type[ToolCalled]
    command: Tell | None
    nap: Nap | None = None
    task: str = "a"
    is_over: bool = False

    def on_run_opened(self, state: object) -> None:
        """Nothing is to be done when the run is opened."""

    def on_event_recorded(self, recorded: RecordedEvent) -> None:
        """Say it once, and let the command end when the words are there."""
        event = recorded.event
        if isinstance(event, self.at) and event.task == self.task and not self.is_over:
            self.is_over = True
            if self.command is None and self.nap:
                self.nap.wake_later()
            elif self.command is not None:
                Thread(target=self.say, args=(self.command,), daemon=True).start()
        if isinstance(event, CommandTaken) and self.nap:
            self.nap.wake_later()

    def say(self, command: Tell) -> None:
        """Leave it in the inbox."""
        send_command(RunDirectory(max(self.bench.root.glob("state/*/runs/*"))), command, key="words", by="ada")


async def work(bench: Bench, listener: Listener, teller: Teller, **flags: Any) -> RunExit:
    """A run whose worker is asked through litellm, on the loopback server; everybody else plays a script."""
    server = LoopbackServer((), answering={"worker": listener.answer})
    script = {"model": write_script(bench.root / "script.json", OTHERS)}
    async with server.run() as url:
        roles = {"planner": script, "judge": script, "worker": {"model": "openai/worker", "api_base": url}}
        values = {"gate": GATE_FLAGS, "roles": roles, "state": {"dir": str(bench.root / "state")}}
        return await run_goal(Options(bench.repository, values | flags), "make it better", teller)


def list_events(ended: RunExit, kind: type[Any]) -> list[Any]:
    """The events of a kind, in order."""
    return [one.event for one in read_all_events(ended.directory.journal) if isinstance(one.event, kind)]


def read_landed(bench: Bench, ended: RunExit) -> str:
    """What landed."""
    return git(bench.repository, "show", f"{ended.state.run.branch}:a.txt")


@pytest.mark.parametrize(
    ("words", "landed"), [(WORDS, "seven"), pytest.param("", "six", marks=pytest.mark.extended)], ids=["told", "untold"]
)
async def test_words_to_a_worker_at_work_change_its_next_turn_and_what_lands(
    bench: Bench, words: str, landed: str
) -> None:
    nap = Nap()
    listener = Listener(uses("worker", "a", "shell", command=nap.command, timeout_s=600))
    command = Tell(task=TaskId("a"), note=words) if words else None
    ended = await work(bench, listener, Teller(bench, ToolCalled, command, nap))
    assert (ended.exit_code, read_landed(bench, ended)) == (0, landed)
    assert [bool(words) and WORDS in texts[-1] for texts in listener.asked[:2]] == [False, bool(words)]
    told = [(one.task, one.turn) for one in list_events(ended, WordsDelivered)]
    assert told == [("a", 0)] * bool(words)


NOW = Tell(task=TaskId("a"), note=WORDS, is_now=True)
NEVER = {
    ToolCalled: uses("worker", "a", "shell", command="sleep 600", timeout_s=600),
    ModelCalled: writes("a", "a.txt", "never\n").model_copy(update={"delay_s": 600}),
}


@pytest.mark.parametrize(
    "at", [ModelCalled, pytest.param(ToolCalled, marks=pytest.mark.extended)], ids=lambda kind: kind.__name__
)
async def test_words_that_do_not_wait_end_what_is_under_way_and_the_conversation_goes_on(
    bench: Bench, at: type[ModelCalled] | type[ToolCalled]
) -> None:
    listener = Listener(NEVER[at])
    one_try = {"run": {"max_attempts": 1}, "roles": {}}
    ended = await work(bench, listener, Teller(bench, at, NOW), run=one_try["run"])
    assert (ended.exit_code, read_landed(bench, ended)) == (0, "seven")
    assert len(list_events(ended, AttemptStarted)) == 1, "nothing of it is a failure of the task"
    assert [(one.task, one.turn) for one in list_events(ended, WordsDelivered)] == [("a", 0)]
    turns = [one for one in list_events(ended, TurnEnded) if one.task == "a" and one.session == "work:a@1"]
    assert [one.is_interrupted for one in turns][:2] == [at is ModelCalled, False]
    assert ended.state.sessions[turns[0].session].ended == "finished"


@pytest.mark.extended
async def test_a_planner_need_not_be_waited_for_either(bench: Bench) -> None:
    never = plans("root", {"key": "never"}).model_copy(update={"delay_s": 600})
    teller = Teller(bench, ModelCalled, Tell(task=ROOT_TASK, note="one task is enough", is_now=True), task=ROOT_TASK)
    ended = await bench.run(never, plans("root", {"key": "a"}), *task("a"), planner_ends(), judges(), when=teller)
    assert (ended.exit_code, {*ended.state.tasks}) == (0, {"root", "a"})
    told = [(one.session, one.turn) for one in list_events(ended, WordsDelivered)]
    assert told == [("plan:root@1.1", 0), ("plan:root@1.2", None)], "the next round begins afresh, and is told as well"


@pytest.mark.extended
@pytest.mark.parametrize("at", [ModelCalled, ToolCalled], ids=lambda kind: kind.__name__)
async def test_a_run_in_which_people_spoke_is_done_over_with_their_words_at_the_same_turns(
    bench: Bench, at: type[ModelCalled] | type[ToolCalled]
) -> None:
    assert (await work(bench, Listener(NEVER[at]), Teller(bench, at, NOW))).exit_code == 0
    report = await again(bench)
    assert (report.exit_code, report.divergences, report.replayed_outcome) == (0, (), "done")


@pytest.mark.extended
async def test_words_that_waited_for_a_command_are_told_at_the_same_turn_again(bench: Bench) -> None:
    listener = Listener(uses("worker", "a", "shell", command="sleep 2"))
    ended = await work(bench, listener, Teller(bench, ToolCalled, Tell(task=TaskId("a"), note=WORDS)))
    assert read_landed(bench, ended) == "seven"
    report = await again(bench)
    assert (report.exit_code, report.divergences, report.replayed_outcome) == (0, (), "done")
