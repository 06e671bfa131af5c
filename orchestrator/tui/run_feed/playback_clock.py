"""A recording's clock: a journal is played by its own times, faster or slower, held, or at once to its end."""

import time
from collections.abc import Callable
from datetime import datetime, timedelta

_LONGEST_WAIT_S = 3.0
MIN_SPEED, MAX_SPEED = 0.01, 10_000.0
"""Between these any speed can be had."""


class PlaybackClock:
    """A clock that says when an event of a recording is due. `speed` is the recording's seconds in one.

    Nobody waits longer than some seconds for the next event, however long nothing happened: the clock jumps.
    """

    def __init__(
        self,
        speed: float = 1.0,
        *,
        longest_wait_s: float = _LONGEST_WAIT_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._speed, self._longest_s, self._clock = speed, longest_wait_s, clock
        self._at: datetime | None = None
        self._since = clock()
        self._is_paused = self._is_at_end = False

    @property
    def now(self) -> datetime | None:
        """The recording's time; None before its first event is known."""
        if self._at is None or self._is_paused:
            return self._at
        return self._at + timedelta(seconds=(self._clock() - self._since) * self._speed)

    def is_due(self, at: datetime) -> bool:
        """Return True if the next event, recorded at `at`, has happened by now."""
        now = self.now
        if now is None or self._is_at_end:
            self._set(at)
            return True
        if at <= now:
            return True
        if not self._is_paused and (at - now).total_seconds() > self._longest_s * self._speed:
            self._set(at - timedelta(seconds=self._longest_s * self._speed))
        return False

    def stop_at(self, at: datetime) -> None:
        """Let the clock go no further than this."""
        if self.now is not None and self.now > at:
            self._set(at)

    def reset_clock(self) -> None:
        """Begin anew with the first event that comes."""
        self._at = None
        self._is_at_end = False

    @property
    def is_paused(self) -> bool:
        """True while the clock stands still."""
        return self._is_paused

    @is_paused.setter
    def is_paused(self, wanted: bool) -> None:
        self._set(self.now)
        self._is_paused = wanted

    @property
    def speed(self) -> float:
        """The recording's seconds in one."""
        return self._speed

    @speed.setter
    def speed(self, wanted: float) -> None:
        self._set(self.now)
        self._speed = min(max(wanted, MIN_SPEED), MAX_SPEED)

    def jump_to_end(self) -> None:
        """Make everything due at once."""
        self._is_at_end = True

    def _set(self, at: datetime | None) -> None:
        self._at, self._since = at, self._clock()
