"""A file that a candidate changed, with what it held before and holds now."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

SYMLINK_MODE = "120000"


class AddedLine(NamedTuple):
    """A line that a change adds; `number` counts in the new file."""

    path: str
    number: int
    text: str


class DiffHunk(NamedTuple):
    """Lines of a file that were taken out and put in together; `line` is where that is, counted in the new file."""

    path: str
    line: int
    removed: tuple[str, ...]
    added: tuple[str, ...]


T = TypeVar("T")
P = TypeVar("P", AddedLine, DiffHunk)


@dataclass(frozen=True)
class ChangedFile:
    """A path that differs from the base; a content is None where the path does not exist, or was not read.

    `old_mode` and `new_mode` are git's, None where the path does not exist.
    """

    path: str
    before: bytes | None
    after: bytes | None
    old_mode: str | None
    new_mode: str | None

    @property
    def is_new(self) -> bool:
        """True if the base does not have it."""
        return self.old_mode is None

    @property
    def is_deleted(self) -> bool:
        """True if the candidate does not have it any more."""
        return self.new_mode is None

    @property
    def is_unread(self) -> bool:
        """True if one of its sides exists and was not read, so that nothing can be said of it."""
        is_old_unread = self.old_mode is not None and self.before is None
        is_new_unread = self.new_mode is not None and self.after is None
        return is_old_unread or is_new_unread

    @property
    def has_new_content(self) -> bool:
        """True if there is a file, no link, whose content is known and differs from the base's."""
        return self.after is not None and self.new_mode != SYMLINK_MODE and self.after != self.before

    @property
    def is_python(self) -> bool:
        """True if Python runs it, and it can be read as its source."""
        return self.path.endswith((".py", ".pyi")) and SYMLINK_MODE not in {self.old_mode, self.new_mode}


def subtract_known(left: Iterable[T], right: Iterable[T], key: Callable[[T], Hashable]) -> list[T]:
    """Return what the left has more of than the right; `key` says what counts as the same."""
    known = Counter(map(key, right))
    rest = []
    for one in left:
        known[key(one)] -= 1
        if known[key(one)] < 0:
            rest.append(one)
    return rest


def group_by_path(parts: Iterable[P]) -> dict[str, list[P]]:
    """Return parts of a change by the path of their file, in their order."""
    parts_by_path: dict[str, list[P]] = {}
    for part in parts:
        parts_by_path.setdefault(part.path, []).append(part)
    return parts_by_path
