"""Batches: how many files share one sandbox, and when no two of them may.

A batch takes some seconds of work, by what files took so far. Files of a step that was seen to change more than its own
file never share one.
"""

from math import ceil

from orchestrator.domain.event.run import Noticed
from orchestrator.domain.recipe.step import TransformStep
from orchestrator.domain.run.notice_codes import NoticeCode
from orchestrator.domain.text.listing import join_limited
from orchestrator.engine.context import RunContext
from orchestrator.migrate.notices import has_notice

_AIM_S = 8.0
_MOST = 64
_FIRST = 4
_WEIGHT = 0.3
_SHOWN = 8


class BatchSizer:
    """The sizes of one step's batches; several workers ask for them and tell how long theirs took.

    Args:
        slots: how many workers share what is left.
        is_allowed: False if every file has a sandbox of its own.
    """

    def __init__(self, slots: int, is_allowed: bool = True) -> None:
        self._slots = max(1, slots)
        self._seconds: float | None = None
        self.is_allowed = is_allowed
        self.strays: set[str] = set()
        """Paths that command lines changed beside their own files."""

    def choose_size(self, waiting: int) -> int:
        """Return how many of the waiting files the next batch takes, at least one."""
        if not self.is_allowed:
            return 1
        wanted = _FIRST if self._seconds is None else round(_AIM_S / max(self._seconds, _AIM_S / _MOST))
        return max(1, min(wanted, _MOST, ceil(waiting / self._slots)))

    def record_duration(self, seconds: float, files: int) -> None:
        """Record that so many files took so many seconds together; later ones count for more."""
        seconds_each = seconds / max(1, files)
        if self._seconds is not None:
            seconds_each = (1 - _WEIGHT) * self._seconds + _WEIGHT * seconds_each
        self._seconds = seconds_each

    def disable_batches(self) -> bool:
        """Give every file a sandbox of its own from now on; return True if that is new."""
        was_allowed, self.is_allowed = self.is_allowed, False
        return was_allowed


def can_batch(context: RunContext, step: TransformStep) -> bool:
    """Return True if several files may share a sandbox.

    They may not without walls, nor for a step that was seen to change more than its own file.
    """
    if context.state.is_unsafe:
        return False
    codes = (NoticeCode.SIDE_EFFECTS, NoticeCode.NO_BATCHES)
    return not any(has_notice(context.state, code, step.id) for code in codes)


async def record_side_effects(context: RunContext, step: TransformStep, batches: BatchSizer) -> None:
    """Write a notice of the files that a step changed beside its own, or else of why its files share no sandbox."""
    if batches.strays:
        paths = tuple(sorted(batches.strays))
        text = f"step {step.id} also changed {join_limited(paths, _SHOWN)}; that was left out"
        code = NoticeCode.SIDE_EFFECTS
        await context.journal.append(
            Noticed(level="warning", text=text, code=code, subject=step.id, paths=paths[:_SHOWN])
        )
    elif not batches.is_allowed and can_batch(context, step):
        reason = "files that share one left something behind, or something was missing in it (timeout, find, base64)"
        text = f"step {step.id} has a sandbox for each file: {reason}"
        await context.journal.append(Noticed(level="info", text=text, code=NoticeCode.NO_BATCHES, subject=step.id))
