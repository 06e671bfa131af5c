"""A quota pool: what several models or endpoints draw on together, so that one answer closes it for all of them."""

import time
from datetime import UTC, datetime
from typing import NamedTuple

import anyio

MAX_PAUSE_S = 3_652 * 86_400.0


class ClockReading(NamedTuple):
    """The same moment on two clocks: Unix time, and seconds that never run backwards but may stand in a suspend."""

    wall_s: float
    steady_s: float

    def add_seconds(self, seconds: float) -> "ClockReading":
        """Return the moment after so many seconds."""
        return ClockReading(self.wall_s + seconds, self.steady_s + seconds)


def read_clocks() -> ClockReading:
    """Return the time now."""
    return ClockReading(time.time(), anyio.current_time())


class QuotaPool:
    """Open at first; paused until a moment when a provider asked for it, closed for good when its quota is used up."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.exhausted_message = ""
        """What the provider said when the quota was used up; empty while it is not."""
        self._until: ClockReading | None = None

    def pause_for(self, seconds: float, now: ClockReading) -> None:
        """Pause for at least so many seconds from now, ten years at most."""
        if seconds > self.get_pause_s(now):
            self._until = now.add_seconds(min(seconds, MAX_PAUSE_S))

    def get_pause_s(self, now: ClockReading) -> float:
        """Return seconds that the pause still lasts; 0 without one.

        Either clock ends it: a machine that slept wakes to an open pool, and a clock set back does not prolong it.
        """
        if self._until is None:
            return 0.0
        return max(0.0, min(self._until.wall_s - now.wall_s, self._until.steady_s - now.steady_s))

    def get_opening_time(self, now: ClockReading) -> datetime | None:
        """Return when the pause ends, aware UTC; None without one."""
        seconds = self.get_pause_s(now)
        if seconds:
            return datetime.fromtimestamp(now.wall_s + seconds, UTC)
        return None
