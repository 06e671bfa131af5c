"""A run that sleeps in commands, and what a person does about it in several terminals."""

import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.event.work import ToolCalled
from orchestrator.journal.storage.event_store import read_all_events
from tests.running.cli import COMMAND, Finished, environment
from tests.running.in_process import orchestrate
from tests.running.naps import Nap
from tests.running.projects import GATE, calculator
from tests.running.scripts import judges, planner_ends, plans, reviews, uses, worker_ends, write_script, writes

_PATIENCE_S = 180.0


class SleepyRun:
    """A run of tasks, one after the other, each of which sleeps for a while in a command and writes a file.

    It sleeps for `sleep_s` seconds, or until it is woken.
    """

    def __init__(self, place: Path, sleep_s: float, tasks: Sequence[str] = ("a",)) -> None:
        calculator(place / "repo")
        drafts = [{"key": name, "depends_on": list(tasks[:at][-1:])} for at, name in enumerate(tasks)]
        items = [plans("root", *drafts)]
        self._nap = Nap(sleep_s)
        for name in tasks:
            sleeps = uses("worker", name, "shell", command=self._nap.command)
            items += [sleeps, writes(name, f"{name}.txt", name), worker_ends(name), reviews(name)]
        model = write_script(place / "script.json", [*items, planner_ends(), judges()])
        models = [word for role in ("planner", "worker", "judge") for word in ("--model", f"{role}={model}")]
        self.place = place
        self.where = ("--repo", str(place / "repo"), "--state", str(place / "state"))
        self.words = ["run", "sleepy steps", "--gate", GATE, "--set", "gate.report=unittest", *models]

    def says(self, *words: str) -> Finished:
        """A command to its end, in this process; an engine that it leaves behind has one of its own."""
        return orchestrate(*words, *self.where, cwd=self.place)

    def begin(self, *words: str) -> "subprocess.Popen[str]":
        """A command that nobody waits for yet; without words the run itself."""
        return subprocess.Popen(
            [*COMMAND, *(words or self.words), *self.where],
            cwd=self.place,
            env=environment(self.place),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    @property
    def directory(self) -> Path:
        """The run's own directory."""
        return next(self.place.glob("state/*/runs/*"))

    def engine(self) -> int:
        """The process that holds the run's lock."""
        return int((self.directory / "lock").read_text().split()[1])

    def events(self) -> list[RecordedEvent]:
        """What was recorded so far."""
        journals = list(self.place.glob("state/*/runs/*/journal.db"))
        return list(read_all_events(journals[0])) if journals else []

    def wait_for(self, is_there: Callable[[RecordedEvent], bool]) -> None:
        """Wait until such an event was recorded."""
        until = time.monotonic() + _PATIENCE_S
        while not any(is_there(event) for event in self.events()):
            assert time.monotonic() < until, "the event never came"
            time.sleep(0.05)

    def wake(self) -> None:
        """Wait until a worker sleeps, and end that as if its time were over."""
        self._nap.wake()

    def wake_later(self) -> None:
        """Wake the next worker that sleeps, without waiting for it here; none of an ended engine sleeps any more."""
        self._nap.wake_next_later()

    def wait_for_the_end(self) -> None:
        """Wait until the run has ended."""
        self.wait_for(lambda recorded: recorded.event.kind == "run.ended")

    def resume(self, *more: str) -> dict[str, object]:
        """Go on with it to its good end."""
        done = self.says("resume", "--json", *more)
        assert done.code == 0, done.err
        result: dict[str, object] = done.json
        return result


def in_shell(recorded: RecordedEvent) -> bool:
    """Whether a worker has begun to sleep."""
    return isinstance(recorded.event, ToolCalled) and recorded.event.name == "shell"
