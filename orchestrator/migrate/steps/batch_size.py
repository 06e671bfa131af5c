"""How many files one sandbox takes at a time: some seconds of work, by what files took so far."""

from math import ceil

_AIM_S = 8.0
_MOST = 64
_FIRST = 4
_WEIGHT = 0.3


class BatchSizer:
    """The sizes of one step's batches; several workers ask for them and tell how long theirs took.

    Args:
        slots: how many workers share what is left.
        is_allowed: whether there may be batches at all.
    """

    def __init__(self, slots: int, is_allowed: bool = True) -> None:
        self._slots = max(1, slots)
        self._seconds: float | None = None
        self.is_allowed = is_allowed
        self.strays: set[str] = set()
        """What lines were found to have changed beside their own files."""

    def choose_size(self, waiting: int) -> int:
        """How many of the waiting files the next batch takes, at least one."""
        if not self.is_allowed:
            return 1
        if self._seconds is None:
            wanted = _FIRST
        else:
            wanted = round(_AIM_S / max(self._seconds, _AIM_S / _MOST))
        return max(1, min(wanted, _MOST, ceil(waiting / self._slots)))

    def record_duration(self, seconds: float, files: int) -> None:
        """Take in that so many files took so many seconds together; later ones count for more."""
        each = seconds / max(1, files)
        self._seconds = each if self._seconds is None else (1 - _WEIGHT) * self._seconds + _WEIGHT * each

    def disable_batches(self) -> bool:
        """From now on every file has a sandbox of its own; whether that is new."""
        was_allowed, self.is_allowed = self.is_allowed, False
        return was_allowed
