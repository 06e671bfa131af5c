"""Show a run while it works: a live bar on a terminal, plain lines everywhere else. Always on standard error."""

import os
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Self

from orchestrator.cli.output import print_message
from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.event.people import ApprovalRequested
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.sanitization import strip_controls
from orchestrator.report.log.event_lines import render_event_line
from orchestrator.report.log.progress_lines import ProgressReporter, is_github_actions
from orchestrator.report.run.phase import get_phase

_NOTABLE = {
    "run.started",
    "run.noticed",
    "unit.ejected",
    "landing.finished",
    "verdict.given",
    "plan.submitted",
    "task.ended",
}
_NOTABLE |= {"step.finished", "model.failed", "run.draining", "plan.refused", "iteration.judged"}
_NOTABLE |= {"approval.requested", "approval.decided", "command.taken", "rewind.finished"}


class ProgressWatcher(ABC):
    """A watcher of one run, to be used as a context manager."""

    def __init__(self, where: str = "") -> None:
        """`where` are the options with which other verbs find the run."""
        self._state: RunState | None = None
        self._where = where

    def on_run_opened(self, state: RunState) -> None:
        """Take the state of the run that was opened; `state` stays current."""
        self._state = state

    @abstractmethod
    def on_event_recorded(self, recorded: RecordedEvent) -> None:
        """Take an event that was just recorded."""

    @abstractmethod
    def on_tick(self) -> None:
        """Bring up to date what is drawn, some times a second."""

    @abstractmethod
    def show_message(self, text: str) -> None:
        """Print a line beside the progress."""

    def _build_answer_line(self, recorded: RecordedEvent) -> str:
        """Return the commands that answer the question that was just asked; empty for any other event."""
        if self._state is None or not isinstance(recorded.event, ApprovalRequested):
            return ""
        run, question = self._state.run.run, self._state.find_question(recorded.event.approval.item)
        if question is None:
            return ""
        others = ", ".join(question.approval.answers[1:])
        return f"  answer it: orchestrate approve {run} {question.id}{self._where} (or {others}), or watch {run}"

    def __enter__(self) -> Self:
        return self

    @abstractmethod
    def __exit__(self, kind: object, error: object, trace: object) -> None: ...


def choose_watcher(where: str = "") -> ProgressWatcher:
    """Return the watcher that fits the place standard error goes to.

    `where` are the options with which other verbs find the run.
    """
    is_terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb" and not os.environ.get("CI")
    return _BarWatcher(where) if is_terminal else _LineWatcher(where)


class _LineWatcher(ProgressWatcher):
    """A watcher that prints a line for each event, and a heartbeat after a minute without one."""

    def __init__(self, where: str = "") -> None:
        super().__init__(where)
        self._reporter = ProgressReporter(time.monotonic(), is_github=is_github_actions(os.environ))
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._print_heartbeats, daemon=True)

    def on_event_recorded(self, recorded: RecordedEvent) -> None:
        _print_messages(self._reporter.render_event(recorded, time.monotonic(), self._state))
        if answer := self._build_answer_line(recorded):
            print_message(answer)

    def on_tick(self) -> None:
        """Do nothing: a thread prints heartbeats."""

    def show_message(self, text: str) -> None:
        print_message(text)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._stop.set()
        self._thread.join()

    def _print_heartbeats(self) -> None:
        while not self._stop.wait(1.0):
            if self._state is not None:
                _print_messages(
                    self._reporter.render_heartbeat(self._state, time.strftime("%H:%M:%S"), time.monotonic())
                )


def _print_messages(lines: Iterable[str]) -> None:
    for text in lines:
        print_message(text)


class _BarWatcher(ProgressWatcher):
    """A watcher that redraws one line: the current phase, its progress, time and spend so far."""

    def __init__(self, where: str = "") -> None:
        super().__init__(where)
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        self._progress: Progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            TextColumn("{task.completed:.0f}/{task.total:.0f}", markup=False),
            TimeElapsedColumn(),
            TextColumn("{task.fields[spent]}", markup=False),
            console=Console(stderr=True, highlight=False, markup=False),
            transient=True,
        )
        self._task = self._progress.add_task("starting", total=1, spent="")

    def on_run_opened(self, state: RunState) -> None:
        super().on_run_opened(state)
        self._progress.start()

    def on_event_recorded(self, recorded: RecordedEvent) -> None:
        if recorded.event.kind in _NOTABLE:
            question_ids = self._state.question_ids if self._state is not None else {}
            self._progress.console.print(render_event_line(recorded, question_ids), no_wrap=True, overflow="ellipsis")
        if answer := self._build_answer_line(recorded):
            self.show_message(answer)
        self.on_tick()

    def show_message(self, text: str) -> None:
        self._progress.console.print(strip_controls(text), soft_wrap=True)

    def on_tick(self) -> None:
        if self._state is not None:
            phase = get_phase(self._state)
            self._progress.update(
                self._task,
                description=phase.title,
                completed=phase.done,
                total=max(phase.total, 1),
                spent=f"{self._state.test_runs} test runs, cost {self._state.spend.total.cost_text}",
            )

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._progress.stop()
