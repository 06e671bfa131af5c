"""Show on standard error that a planner is at work: what it does, and how long it has been thinking."""

import threading
import time
from typing import Self

from orchestrator.cli.output import print_message
from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.event.work import ModelCalled, ModelFailed, ModelReplied, ToolCalled
from orchestrator.domain.text.durations import format_duration
from orchestrator.domain.text.listing import format_count
from orchestrator.domain.text.sanitization import to_one_line

QUIET_S = 10.0
"""After so long without a line one says that the planner still thinks."""
_CHARS = 100


class PlanProgress:
    """Prints a line for each call and tool of a planner; a context manager."""

    def __init__(self, quiet_s: float = QUIET_S) -> None:
        self._quiet_s = quiet_s
        self._begun = self._last = time.monotonic()
        self._calls = 0
        self._tokens = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._print_heartbeats, daemon=True)

    def on_event_recorded(self, recorded: RecordedEvent) -> None:
        """Print what the event tells of the planner's work, if anything."""
        match recorded.event:
            case ModelCalled() as call:
                self._calls += 1
                if self._calls == 1:
                    self._print(f"{to_one_line(call.model, _CHARS)} plans; nothing is changed")
            case ModelReplied() as reply:
                self._tokens += reply.usage.tokens
                self._print(
                    f"{format_count(self._calls, 'call')}, {self._tokens:,} tokens, cost {reply.usage.cost_text}"
                )
            case ModelFailed() as failure:
                self._print(f"a call failed: {to_one_line(failure.detail, _CHARS)}")
            case ToolCalled() as tool:
                self._print(f"{tool.name} {to_one_line(tool.arguments.head, _CHARS)}")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._stop.set()
        self._thread.join()

    def _print(self, text: str) -> None:
        self._last = time.monotonic()
        print_message(f"planning, {format_duration(self._last - self._begun)}: {text}")

    def _print_heartbeats(self) -> None:
        while not self._stop.wait(min(self._quiet_s, 1.0)):
            if time.monotonic() - self._last >= self._quiet_s:
                self._print("the planner is thinking")
