"""A run told in lines as it goes, where there is no screen: what changed, and now and then that it still lives.

It is what a log of CI is made of: never silent for more than a minute, never more than so many lines a minute, and on
GitHub what went wrong stands beside the run as an annotation.
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
    "session.ended",
    "check.started",
    "file.moved",
}
"""What is left out besides what `logs` leaves out: each is one of very many."""
_HEARTBEAT_S = 60.0
_MINUTE_S = 60.0
MOST_A_MINUTE = 120
_IMPORTANT = {"run.ended", "run.paused", "approval.requested", "run.draining"}
"""Told however many lines there were."""


class ProgressReporter:
    """Tells one run. All times are seconds of any clock that only goes forward.

    Args:
        now: the time.
        is_github: whether the lines go to a log of GitHub's, which has annotations.
        most: so many lines a minute.
    """

    def __init__(self, now: float, *, is_github: bool = False, most: int = MOST_A_MINUTE) -> None:
        self._spoke = now
        self._minute = now
        self._lines = 0
        self._suppressed = 0
        self._is_github = is_github
        self._most = most

    def render_event(self, recorded: RecordedEvent, now: float) -> Iterator[str]:
        """The lines for an event; none for most."""
        if recorded.event.kind in QUIET_KINDS:
            return
        yield from self._next_minute(now)
        self._lines += 1
        if self._lines > self._most and recorded.event.kind not in _IMPORTANT:
            self._suppressed += 1
            return
        self._spoke = now
        yield render_event_line(recorded)
        if self._is_github:
            yield from _annotations(recorded)

    def render_heartbeat(self, state: RunState, clock: str, now: float) -> Iterator[str]:
        """A line if nothing has been told for a minute.

        Args:
            state: the run.
            clock: the time of day in words.
            now: the time.
        """
        yield from self._next_minute(now)
        if now - self._spoke > _HEARTBEAT_S:
            self._spoke = now
            at = get_phase(state)
            yield f"{clock}  {at.title}: {at.done} of {at.total}; {state.test_runs} test runs, {state.spent.cost_text}"

    def _next_minute(self, now: float) -> Iterator[str]:
        if now - self._minute >= _MINUTE_S:
            if self._suppressed:
                self._spoke = now
                yield f"{self._suppressed} lines suppressed: orchestrate logs has them"
            self._minute, self._lines, self._suppressed = now, 0, 0


def is_github_actions(environ: Mapping[str, str]) -> bool:
    """Whether what is printed goes to a log of GitHub Actions."""
    return environ.get("GITHUB_ACTIONS") == "true"


def _annotations(recorded: RecordedEvent) -> Iterator[str]:
    event = recorded.event
    if isinstance(event, TaskEnded) and not event.status.is_reached:
        yield f"::warning title={_escaped(str(event.task))}::{_escaped(f'{event.status}: {event.reason}')}"
    elif isinstance(event, RunEnded) and event.outcome != "done":
        yield f"::error title=orchestrate::{_escaped(f'{event.outcome}: {event.reason}')}"


def _escaped(text: str) -> str:
    """As GitHub's commands have it: nothing in the words can end them, or begin another."""
    text = to_one_line(text).replace("%", "%25").replace(":", "%3A")
    return text.replace(",", "%2C")
