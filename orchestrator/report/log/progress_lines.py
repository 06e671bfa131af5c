"""Report a run in lines as it goes, for CI logs and other places without a screen.

The log is never silent for more than a minute and never has more than so many lines a minute. On GitHub, failures are
annotations of the run as well.
"""

from collections.abc import Iterator, Mapping

from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.event.run import RunEnded
from orchestrator.domain.event.work import TaskEnded
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.report.log.event_lines import DETAIL_KINDS, render_event_line
from orchestrator.report.run.phase import get_phase

QUIET_KINDS = DETAIL_KINDS | {
    "model.replied",
    "tool.returned",
    "session.started",
    "session.context-filled",
    "session.carried-over",
    "session.ended",
    "check.started",
    "file.moved",
}
"""Kinds left out besides those that `logs` leaves out: there are very many of each."""
_HEARTBEAT_S = 60.0
_STOPPING_S = 5.0
"""Seconds between lines while a run stops and what it waits for changes."""
_MINUTE_S = 60.0
MOST_A_MINUTE = 120
_IMPORTANT = {"run.ended", "run.paused", "approval.requested", "run.draining"}
"""Kinds that are printed however many lines there were."""


class ProgressReporter:
    """Reports one run. All times are seconds of a monotonic clock.

    Args:
        now: the time.
        is_github: True if the lines go to a log of GitHub's, which has annotations.
        most: so many lines a minute.
    """

    def __init__(self, now: float, *, is_github: bool = False, most: int = MOST_A_MINUTE) -> None:
        self._last_line_at = now
        self._minute_start = now
        self._lines = 0
        self._suppressed = 0
        self._last_title = ""
        self._is_github = is_github
        self._most = most

    def render_event(self, recorded: RecordedEvent, now: float, state: RunState | None = None) -> Iterator[str]:
        """Yield the lines for an event; most have none. With the run's state questions have their short names."""
        if recorded.event.kind in QUIET_KINDS:
            return
        yield from self._next_minute(now)
        self._lines += 1
        if self._lines > self._most and recorded.event.kind not in _IMPORTANT:
            self._suppressed += 1
            return
        self._last_line_at = now
        yield render_event_line(recorded, state.question_ids if state is not None else {})
        if self._is_github:
            yield from _render_annotations(recorded)

    def render_heartbeat(self, state: RunState, clock: str, now: float) -> Iterator[str]:
        """Yield a line if there was none for a minute, and while a run stops, if it waits for something else.

        Args:
            state: the run.
            clock: the time of day in words.
            now: the time.
        """
        yield from self._next_minute(now)
        at = get_phase(state)
        is_news = state.is_draining and at.title != self._last_title
        if now - self._last_line_at > (_STOPPING_S if is_news else _HEARTBEAT_S):
            self._last_line_at, self._last_title = now, at.title
            spent = f"{state.test_runs} test runs, cost {state.spend.total.cost_text}"
            yield f"{clock}  {at.title}: {at.done} of {at.total}; {spent}"

    def _next_minute(self, now: float) -> Iterator[str]:
        if now - self._minute_start >= _MINUTE_S:
            if self._suppressed:
                self._last_line_at = now
                yield f"{self._suppressed} lines suppressed: orchestrate logs has them"
            self._minute_start, self._lines, self._suppressed = now, 0, 0


def is_github_actions(environ: Mapping[str, str]) -> bool:
    """Return True if the output goes to a log of GitHub Actions."""
    return environ.get("GITHUB_ACTIONS") == "true"


def _render_annotations(recorded: RecordedEvent) -> Iterator[str]:
    event = recorded.event
    if isinstance(event, TaskEnded) and not event.status.is_reached:
        words = _escape_command(f"{event.status.word}: {event.reason}")
        yield f"::warning title={_escape_command(str(event.task))}::{words}"
    elif isinstance(event, RunEnded) and event.outcome != "done":
        yield f"::error title=orchestrate::{_escape_command(f'{event.outcome}: {event.reason}')}"


def _escape_command(text: str) -> str:
    """Return the text so that it can neither end a GitHub workflow command nor begin another."""
    text = to_one_line(text).replace("%", "%25").replace(":", "%3A")
    return text.replace(",", "%2C")
