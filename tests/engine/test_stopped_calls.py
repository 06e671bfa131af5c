"""A person ends the one command that a worker waits for: it learns so and goes on, and the others notice nothing."""

from threading import Thread
from time import sleep

import pytest

from orchestrator.app.run_execution import RunExit
from orchestrator.domain.commands.definitions import Command, StopCall
from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.event.people import CommandTaken
from orchestrator.domain.event.work import ToolCalled, ToolReturned
from orchestrator.domain.ids import SessionId
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.llm.scripted_model.script import ScriptedReply
from orchestrator.run_control.control import send_command
from tests.engine.test_replay import again
from tests.running.goals import Bench, task
from tests.running.scripts import judges, planner_ends, plans, reviews, uses, worker_ends, writes

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(480)]

HANGING = SessionId("work:a@1")


def hanging() -> list[ScriptedReply]:
    """One worker's command never ends by itself, another's does."""
    return [
        plans("root", {"key": "a"}, {"key": "b"}),
        uses("worker", "a", "shell", command="echo half-way; sleep 600", timeout_s=600),
        writes("a", "a.txt", "a\n"),
        worker_ends("a"),
        reviews("a"),
        uses("worker", "b", "shell", command="sleep 1 && echo whole > b.txt"),
        *task("b")[1:],
        planner_ends(),
        judges(),
    ]


class Impatient:
    """Says something as soon as the hanging command has printed something."""

    def __init__(self, bench: Bench, *commands: Command) -> None:
        self._bench, self._commands = bench, commands

    def on_run_opened(self, state: object) -> None:
        """Nothing is to be done when the run is opened."""

    def on_event_recorded(self, recorded: RecordedEvent) -> None:
        event = recorded.event
        if isinstance(event, ToolCalled) and "sleep 600" in event.arguments.head:
            Thread(target=self._say, daemon=True).start()

    def _say(self) -> None:
        while not any("half-way" in log.read_text() for log in self._bench.root.glob("state/**/*.log")):
            sleep(0.05)
        for number, command in enumerate(self._commands):
            send_command(directory(self._bench), command, key=f"stop/{number}", by="ada")


def directory(bench: Bench) -> RunDirectory:
    return RunDirectory(max(bench.root.glob("state/*/runs/*")))


def returned(ended: RunExit, task: str) -> list[ToolReturned]:
    events = (one.event for one in read_all_events(ended.directory.journal))
    return [event for event in events if isinstance(event, ToolReturned) and event.task == task]


async def test_a_hanging_command_is_stopped_alone_and_its_worker_goes_on(bench: Bench) -> None:
    stop = StopCall(session=HANGING, call="tool/work:a@1/0/0", reason="it waits for a server")
    ended = await bench.run(*hanging(), when=Impatient(bench, stop, stop.model_copy(update={"reason": "again"})))
    first, *rest = returned(ended, "a")
    assert (ended.exit_code, first.ok, first.seconds < 60) == (0, False, True)
    assert first.observation.head.startswith("A person stopped this call: it waits for a server\n[killed after ")
    assert first.observation.head.endswith("half-way")
    assert all(one.ok for one in (*rest, *returned(ended, "b"))), "nothing else was stopped"
    taken = [one.event for one in read_all_events(ended.directory.journal) if isinstance(one.event, CommandTaken)]
    assert [bool(event.refused) for event in taken] == [False, True], "the second one comes too late"


@pytest.mark.extended
async def test_a_run_with_a_stopped_call_is_done_over_the_same(bench: Bench) -> None:
    assert (await bench.run(*hanging(), when=Impatient(bench, StopCall(session=HANGING)))).exit_code == 0
    report = await again(bench)
    assert (report.exit_code, report.divergences, report.replayed_outcome) == (0, (), "done")
