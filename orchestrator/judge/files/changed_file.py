"""A file that a candidate changed, with what it held before and holds now."""

from dataclasses import dataclass
from typing import NamedTuple

SYMLINK_MODE = "120000"


class DiffHunk(NamedTuple):
    """Lines of a file that were taken out and put in together; `line` is where that is, counted in the new file."""

    path: str
    line: int
    removed: tuple[str, ...]
    added: tuple[str, ...]


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
        """Whether the base does not have it."""
        return self.old_mode is None

    @property
    def is_deleted(self) -> bool:
        """Whether the candidate does not have it any more."""
        return self.new_mode is None

    @property
    def is_unread(self) -> bool:
        """Whether one of its sides exists and was not read, so that nothing can be said of it."""
        sides = ((self.old_mode, self.before), (self.new_mode, self.after))
        return any(mode is not None and content is None for mode, content in sides)

    @property
    def is_python(self) -> bool:
        """Whether Python runs it, and it can be read as its source."""
        return self.path.endswith((".py", ".pyi")) and SYMLINK_MODE not in {self.old_mode, self.new_mode}
