"""The number of workers that may be at work at once: all that are allowed, fewer where they hinder each other.

What lands gives a little more, what shows that they are too many takes a share away (additive increase, multiplicative
decrease, as in TCP: Chiu and Jain 1989). Nothing but the events decides, so a run that is done over has the same width.
"""

import math
from datetime import datetime, timedelta
from enum import StrEnum

from orchestrator.domain.frozen_model import FrozenModel

_STEP = 0.05
"""The share of all workers that one landing gives back."""
_CUT = 0.7
"""The share of the width that is left after a sign that it is too large."""
_PAUSE = timedelta(seconds=30)
"""So long after a cut further signs of the same kind tell nothing new."""
_LOOKED_AT = 10
_MOST_REWORK = 0.6
"""Above this share of the last verdicts that sent work back, the width is cut."""


class WidthCause(StrEnum):
    """A sign that fewer workers would get further."""

    CONFLICT = "conflict"
    RED_TOGETHER = "red-together"
    REWORK = "rework"
    RATE_LIMIT = "rate-limit"


class Width(FrozenModel):
    """The share of the allowed workers that may be at work, and why it is not all of them.

    `recent_verdicts` are of the last verdicts whether each let the work through.
    """

    share: float = 1.0
    cause: WidthCause | None = None
    subject: str = ""
    cut_at: datetime | None = None
    recent_verdicts: tuple[bool, ...] = ()

    def get_workers(self, allowed: int) -> int:
        """Return how many may be at work of so many that are allowed; at least one."""
        return max(1, min(allowed, math.ceil(allowed * self.share)))

    def reduce_share(self, cause: WidthCause, subject: str, at: datetime | None) -> "Width":
        """Return a smaller width, unless it was cut for the same cause a moment ago."""
        is_known = cause == self.cause and self.cut_at is not None and at is not None and at - self.cut_at < _PAUSE
        if is_known:
            return self
        return self.model_copy(
            update={"share": self.share * _CUT, "cause": cause, "subject": subject, "cut_at": at or self.cut_at}
        )

    def raise_share(self) -> "Width":
        """Return the width after something has landed."""
        share = min(1.0, self.share + _STEP)
        if share == 1.0:
            return self.model_copy(update={"share": share, "cause": None, "subject": ""})
        return self.model_copy(update={"share": share})

    def record_verdict(self, is_through: bool, task: str, at: datetime | None) -> "Width":
        """Return the width after a verdict: most of the last ones that send work back are a sign."""
        recent = (*self.recent_verdicts, is_through)[-_LOOKED_AT:]
        after = self.model_copy(update={"recent_verdicts": recent})
        if len(recent) == _LOOKED_AT and recent.count(False) > _LOOKED_AT * _MOST_REWORK:
            return after.reduce_share(WidthCause.REWORK, task, at).model_copy(update={"recent_verdicts": ()})
        return after
