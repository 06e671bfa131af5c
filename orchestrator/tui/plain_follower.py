"""The dashboard without a screen: a line for each thing that happens, and answers that are typed.

It is for logs, pipes and CI, for terminals that can draw nothing, and for people whom a screen tells nothing. It loads
no Textual.
"""

import queue
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from io import TextIOWrapper
from typing import TextIO

from orchestrator.domain.commands.catalog import TYPED_COMMANDS
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.sanitization import strip_controls, to_one_line
from orchestrator.errors import OrchestrateError
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.journal.locations.run_lock import find_lock_owner
from orchestrator.journal.state.derivation import apply_read_event, derive_whole_state
from orchestrator.journal.storage.event_reader import EventReader
from orchestrator.report.log.progress_lines import ProgressReporter
from orchestrator.report.run.phase import get_phase
from orchestrator.report.run.summary import render_summary_lines
from orchestrator.tui.actions import DashboardActions
from orchestrator.tui.commands.parser import parse_commands

_POLL_S = 0.1
_LEAVE = frozenset({"q", "quit", "exit"})
_HELP = frozenset({"?", "help"})


@dataclass
class InputReader:
    """Lines that somebody types, read beside everything else. `is_open` as long as there may come more."""

    stream: TextIO
    is_open: bool = True
    lines: "queue.SimpleQueue[str]" = field(default_factory=queue.SimpleQueue)

    def start_reading(self) -> None:
        """Start the thread that reads."""
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
    def may_have_lines(self) -> bool:
        """True if there is a line, or may yet be one."""
        return self.is_open or not self.lines.empty()

    def take_lines(self) -> Iterator[str]:
        """Yield and remove what was typed since."""
        while not self.lines.empty():
            yield self.lines.get()


@dataclass
class RunFollower:
    """Follows one run until it ends or somebody leaves.

    Args:
        directory: the run.
        print_line: prints a line.
        narration: how it is told.
        actions: where answers go to; None where nobody can give any.
        input_reader: the answers.
        locating_options: the options with which other verbs find the run.
    """

    directory: RunDirectory
    print_line: Callable[[str], object]
    narration: ProgressReporter
    actions: DashboardActions | None = None
    input_reader: InputReader | None = None
    locating_options: str = ""
    _changes: int = -1

    def follow_run(self) -> int:
        """Print what happens from now on; return the run's exit code, 0 if somebody left before its end.

        Raises:
            JournalProblem: the journal cannot be read.
        """
        with EventReader.open_reader(self.directory.journal) as reader:
            state = derive_whole_state(reader).state
            self._begin(state)
            while not self._is_over(reader, state):
                for text in self.input_reader.take_lines() if self.input_reader else ():
                    if text.lower() in _LEAVE:
                        self.print_line(f"left; run {self.directory.run} goes on")
                        return 0
                    self._answer(text, state)
                self._print_lines(self.narration.render_heartbeat(state, time.strftime("%H:%M:%S"), time.monotonic()))
                time.sleep(_POLL_S)
        self._print_lines(render_summary_lines(state, self.locating_options))
        end = state.ended or state.paused
        return end.exit if end else 0

    def _begin(self, state: RunState) -> None:
        if state.started is None or state.ended is not None:
            return
        now = get_phase(state)
        self.print_line(f"run {state.run.run}: {to_one_line(state.run.goal)}")
        spent = f"{state.test_runs} test runs, cost {state.spend.total.cost_text}"
        self.print_line(f"{now.title}: {now.done} of {now.total}; {spent}")
        self._print_lines(_render_questions(state))
        if self.input_reader:
            self.print_line("type a command, as approve q1; ? tells which there are, q leaves")
            self.input_reader.start_reading()

    def _is_over(self, reader: EventReader, state: RunState) -> bool:
        """Fold what is new; return True if nothing more will come."""
        is_live = find_lock_owner(self.directory.path) is not None
        if (changes := reader.read_data_version()) != self._changes:
            self._changes = changes
            self._fold_new_events(reader, state)
        can_answer = self.input_reader is not None and self.input_reader.may_have_lines
        return not is_live and (not can_answer or state.ended is not None)

    def _fold_new_events(self, reader: EventReader, state: RunState) -> None:
        for recorded in reader.read_events(after=state.seq):
            apply_read_event(reader.path, state, recorded)
            self._print_lines(self.narration.render_event(recorded, time.monotonic(), state))
            if recorded.event.kind == "approval.requested":
                self._print_lines(_render_questions(state))

    def _answer(self, text: str, state: RunState) -> None:
        """Carry out what was typed, or print why not."""
        if not text or self.actions is None:
            return
        if text.lower() in _HELP:
            self._print_lines(f"  {verb.usage:36} {verb.summary}" for verb in TYPED_COMMANDS.values())
            return
        try:
            for command in parse_commands(text, (), state):
                self.actions.send_command(command)
            self.actions.wake_engine()
        except OrchestrateError as problem:
            self.print_line(strip_controls(str(problem)))

    def _print_lines(self, lines: Iterator[str]) -> None:
        for text in lines:
            self.print_line(strip_controls(text))


def _render_questions(state: RunState) -> Iterator[str]:
    """Yield the questions that wait, with the ids by which they are answered."""
    for one in state.pending_approvals:
        asked = one.approval
        answers = ", ".join(f"{answer} {one.id}" for answer in asked.answers)
        yield f"? {one.id}  {asked.matter}  {to_one_line(asked.title)}  ({answers})"
        for text in asked.detail[:8]:
            yield f"     {to_one_line(text)}"
