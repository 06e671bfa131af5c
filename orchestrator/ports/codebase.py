"""What planners and workers can find out about the repository beside reading it: a map, its history, its tests.

All of it is read from git objects, and is data written by others.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from orchestrator.domain.ids import CommitId


class MapRequest(NamedTuple):
    """A question for a map: of which commit, about what in words, at most how many tokens, and below which path."""

    commit: CommitId
    texts: tuple[str, ...] = ()
    tokens: int = 2_000
    path: str = ""


class HotFile(NamedTuple):
    """A file, and how many of the newest commits changed it."""

    path: str
    commits: int


class LogEntry(NamedTuple):
    """One commit: its short id, the author's date as 2026-11-27, its subject, and the files that it changed."""

    commit: str
    date: str
    subject: str
    paths: tuple[str, ...]


class BlamedLine(NamedTuple):
    """One line of a file: its number from 1, the short id of its commit, that one's date, and its text."""

    number: int
    commit: str
    date: str
    text: str


class TestFile(NamedTuple):
    """A file of tests, how many tests the gate found in it on the base (None: unknown), and files that it imports."""

    path: str
    tests: int | None = None
    imports: tuple[str, ...] = ()


class ConcernedTestFiles(NamedTuple):
    """The files of tests that concern a path. Without `by_imports` only names were compared."""

    files: tuple[str, ...]
    by_imports: bool


class Codebase(Protocol):
    """The repository of a run as its agents may look around in it. History is that of the run's base."""

    async def draw_map(self, request: MapRequest) -> str:
        """Return a ranked map of files and symbols within its budget; the same question has the same answer.

        Raises:
            ToolRefused: no file lies below the path.
        """

    async def list_hot_files(self) -> Sequence[HotFile]:
        """Return the files that changed most often lately, most often first."""

    async def read_log(self, count: int, path: str) -> Sequence[LogEntry]:
        """Return the newest commits, newest first; with a path those that changed it or something below it.

        Raises:
            ToolRefused: it takes too long.
        """

    async def blame_lines(self, path: str, start: int, end: int) -> Sequence[BlamedLine]:
        """Return where lines of a file on the base come from.

        Raises:
            ToolRefused: there is no such file, it has not so many lines, or it takes too long.
        """

    async def find_tests(self, commit: CommitId, path: str) -> ConcernedTestFiles:
        """Return the files of tests that concern a path."""

    async def list_tests(self, commit: CommitId, limit: int) -> tuple[int, Sequence[TestFile]]:
        """Return how many files hold tests, and at most `limit` of them with what they import, by path."""
