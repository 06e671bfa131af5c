"""The schedule by which a job leaves its state: soon after each landing, and every so often, but not all the time."""

from dataclasses import dataclass
from typing import Literal

SaveKind = Literal["state", "lease"]
_SHARE = 4
"""A save that took so long is followed by this many times as long without one."""


@dataclass
class SaveSchedule:
    """Times are in seconds of one monotonic clock.

    `every_s` is the longest time that something new waits, `beat_s` the longest time without a sign of life.
    """

    every_s: float
    heartbeat_s: float
    saved_at: float
    paused_until: float = 0.0
    heartbeat_at: float = 0.0

    def choose_save(self, now: float, *, is_news: bool, has_landed: bool) -> SaveKind | None:
        """Return what is to be left now.

        Args:
            now: the time.
            is_news: something was recorded since the state was last left.
            has_landed: and a landing is among it.
        """
        if now >= self.paused_until and is_news and (has_landed or now - self.saved_at >= self.every_s):
            return "state"
        if now - self.heartbeat_at >= self.heartbeat_s:
            return "lease"
        return None

    def record_save(self, what: SaveKind, begun: float, now: float) -> None:
        """Record that the state was left, or could not be."""
        self.heartbeat_at = now
        if what == "state":
            self.saved_at, self.paused_until = now, now + _SHARE * (now - begun)
