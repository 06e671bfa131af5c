"""Lists of globs as in .gitignore, which are compiled at their first use."""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


class PathGlobs:
    """Globs of paths; the last one that matches decides, and one that begins with `!` excludes."""

    def __init__(self, globs: Sequence[str]) -> None:
        self._globs = globs

    def match_file(self, path: str) -> bool:
        """Return True if the globs include the path, which is relative to the repository's root."""
        return self._spec.match_file(path)

    @cached_property
    def _spec(self) -> "GitIgnoreSpec":
        from pathspec import GitIgnoreSpec

        return GitIgnoreSpec.from_lines(self._globs)
