"""The dashboard without a screen: a line for each thing that happens, and answers that are typed.

It is for logs, pipes and CI, for terminals that can draw nothing, and for people whom a screen tells nothing. It loads
no Textual.
"""

import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from io import TextIOWrapper
from typing import TextIO

from orchestrator.domain.plain import one_line, strip_controls
from orchestrator.domain.state import RunState
from orchestrator.errors import OrchestrateError
from orchestrator.journal.lock import holder
from orchestrator.journal.reader import Reader
from orchestrator.journal.runs import RunDirectory
from orchestrator.journal.states import advance_read, derive_whole
from orchestrator.report.narration import Narration
from orchestrator.report.phase import phase
from orchestrator.report.summary import summary
from orchestrator.tui.acts.verbs import VERBS, parse
from orchestrator.tui.doors import Doors

_POLL_S = 0.1
_LEAVE = frozenset({"q", "quit", "exit"})
_HELP = frozenset({"?", "help"})


@dataclass
class Typed:
    """Lines that somebody types, read beside everything else. `is_open` as long as there may come more."""

    stream: TextIO
    is_open: bool = True
    lines: "queue.SimpleQueue[str]" = field(default_factory=queue.SimpleQueue)

    def start(self) -> None:
        """Begin to read."""
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        if isinstance(self.stream, TextIOWrapper):
            self.stream.reconfigure(errors="replace")  # nobody else knows when what is typed is no text
        try:
            for text in self.stream:
                self.lines.put(text.strip())
        except (OSError, ValueError):
            return  # the terminal is gone
        finally:
            self.is_open = False

    @property
    def may_come(self) -> bool:
        """Whether there is a line, or may yet be one."""
        return self.is_open or not self.lines.empty()

    def waiting(self) -> Iterator[str]:
        """What was typed since."""
        while not self.lines.empty():
            yield self.lines.get()


@dataclass
class Follower:
    """Follows one run until it ends or somebody leaves.

    Args:
        directory: the run.
        say: prints a line.
        narration: how it is told.
        doors: where answers go to; None where nobody can give any.
        typed: the answers.
        where: the options with which other verbs find the run.
    """

    directory: RunDirectory
    say: Callable[[str], object]
    narration: Narration
    doors: Doors | None = None
    typed: Typed | None = None
    where: str = ""
    _changes: int = -1

    def follow(self) -> int:
        """Tell what happens from now on; gives the run's exit code, 0 if somebody left before its end.

        Raises:
            JournalProblem: the journal cannot be read.
        """
        with closing(Reader.open_reader(self.directory.journal)) as reader:
            state = derive_whole(reader).state
            self._begin(state)
            while not self._is_over(reader, state):
                for text in self.typed.waiting() if self.typed else ():
                    if text.lower() in _LEAVE:
                        self.say(f"left; run {self.directory.run} goes on")
                        return 0
                    self._answer(text, state)
                self._all(self.narration.beat(state, time.strftime("%H:%M:%S"), time.monotonic()))
                time.sleep(_POLL_S)
        self._all(summary(state, self.where))
        end = state.ended or state.paused
        return end.exit if end else 0

    def _begin(self, state: RunState) -> None:
        if state.started is None or state.ended is not None:
            return
        now = phase(state)
        self.say(f"run {state.run.run}: {one_line(state.run.goal)}")
        self.say(f"{now.title}: {now.done} of {now.total}; {state.test_runs} test runs, {state.spent.price}")
        self._all(_asked(state))
        if self.typed:
            self.say("type a command, as approve 1; ? tells which there are, q leaves")
            self.typed.start()

    def _is_over(self, reader: Reader, state: RunState) -> bool:
        """Take in what is new; whether there will be nothing more."""
        is_live = holder(self.directory.path) is not None
        if (changes := reader.changes()) != self._changes:
            self._changes = changes
            self._take_in(reader, state)
        can_answer = self.typed is not None and self.typed.may_come
        return not is_live and (not can_answer or state.ended is not None)

    def _take_in(self, reader: Reader, state: RunState) -> None:
        for recorded in reader.read(after=state.seq):
            advance_read(reader.path, state, recorded)
            self._all(self.narration.told(recorded, time.monotonic()))
            if recorded.event.kind == "approval.requested":
                self._all(_asked(state))

    def _answer(self, text: str, state: RunState) -> None:
        """Carry out what was typed, or say why not."""
        if not text or self.doors is None:
            return
        if text.lower() in _HELP:
            self._all(f"  {verb.usage:36} {verb.does}" for verb in VERBS.values())
            return
        try:
            for command in parse(text, (), state):
                self.doors.send(command)
            self.doors.wake()
        except OrchestrateError as problem:
            self.say(strip_controls(str(problem)))

    def _all(self, lines: Iterator[str]) -> None:
        for text in lines:
            self.say(strip_controls(text))


def _asked(state: RunState) -> Iterator[str]:
    """What waits for an answer, with the numbers by which it is answered."""
    for number, one in enumerate(state.waiting, start=1):
        asked = one.approval
        yield f"? {number}  {asked.matter}  {one_line(asked.title)}  (approve {number}, or deny {number} REASON)"
        yield from (f"     {one_line(text)}" for text in asked.detail[:8])
