"""The codebase of a run, read from the objects of its repository: a `ports.Codebase`."""

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import PurePosixPath

import anyio
from anyio import to_thread

from orchestrator.codemap.map_cache import MapCache
from orchestrator.codemap.repository_map import RepositoryMapper
from orchestrator.domain.ids import CommitId
from orchestrator.domain.text.sanitization import strip_controls, to_one_line
from orchestrator.errors import ToolRefused
from orchestrator.judge.selection.import_graph import PYTHON_SUFFIXES, SCRIPT_SUFFIXES, ImportGraph, ImportGraphReader
from orchestrator.judge.selection.selected_tests import is_test_file, select_concerned_tests
from orchestrator.ports.codebase import BlamedLine, ConcernedTestFiles, HotFile, LogEntry, MapRequest, TestFile
from worktrees.errors import GitError
from worktrees.git import Git
from worktrees.history.commit_log import count_changes, read_log
from worktrees.history.line_origins import read_line_origins
from worktrees.object_store.trees import list_tree, read_tree_id

_HOT_COMMITS = 200
"""So many of the newest commits tell which files are hot."""
_HOT_PATHS = 100
"""A commit that changes more files than that says nothing of one of them."""
_HOT_FILES = 10
_TIMEOUT_S = 20.0
_SHORT = 10
_SUBJECT_CHARS = 120
_LINE_CHARS = 200
_MAX_GRAPH_FILES = 2_000
"""In a larger repository nobody waits until the imports of all files are read: tests are told by their names."""
_MAX_WANTED = 50
"""Of so many files of a folder the tests are looked for."""
_NO_GRAPH = ImportGraph({})


class GitCodebase:
    """Answers about one repository. History is that of `base`, so that a replay finds the same."""

    def __init__(self, git: Git, base: CommitId, kept: MapCache) -> None:
        self._git = git
        self._base = base
        self._mapper = RepositoryMapper(git, kept)
        self._graphs = ImportGraphReader()
        self._commits: Mapping[str, int] | None = None
        self._known_graph: tuple[CommitId, ImportGraph] | None = None

    async def draw_map(self, request: MapRequest) -> str:
        """Return a ranked map of files and symbols within its budget.

        Raises:
            ToolRefused: no file lies below the path, or objects are missing.
        """
        path = clean_path(request.path)
        with _refuse_missing_objects("map"):
            tree, commits = await read_tree_id(self._git, request.commit), await self._count_commits()
            return await self._mapper.draw_map(tree, self._base, commits, request.texts, path, request.tokens)

    async def list_hot_files(self) -> Sequence[HotFile]:
        """Return the files that changed in most of the newest commits; not those that changed once."""
        counted = await self._count_commits()
        ordered = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
        hot = []
        for path, commits in ordered[:_HOT_FILES]:
            if commits > 1:
                hot.append(HotFile(path, commits))
        return hot

    async def _count_commits(self) -> Mapping[str, int]:
        if self._commits is None:
            self._commits = count_changes(await read_log(self._git, self._base, _HOT_COMMITS), _HOT_PATHS)
        return self._commits

    async def read_log(self, count: int, path: str) -> Sequence[LogEntry]:
        """Return the newest commits of the base, those that changed the path if there is one.

        Raises:
            ToolRefused: the path leads out of the repository, objects are missing, or it takes too long.
        """
        cleaned = clean_path(path)
        with anyio.move_on_after(_TIMEOUT_S) as scope, _refuse_missing_objects("log"):
            logged = await read_log(self._git, self._base, count, (cleaned,) if cleaned else ())
        if scope.cancelled_caught:
            raise ToolRefused(f"the log of {cleaned or 'the repository'} takes more than {_TIMEOUT_S:.0f} s: ask less")
        entries = []
        for commit in logged:
            subject = to_one_line(commit.subject, _SUBJECT_CHARS)
            paths = tuple(map(to_one_line, commit.paths))
            entries.append(LogEntry(commit.oid[:_SHORT], _format_date(commit.authored), subject, paths))
        return entries

    async def blame_lines(self, path: str, start: int, end: int) -> Sequence[BlamedLine]:
        """Return where lines of a file on the base come from.

        Raises:
            ToolRefused: there is no such file, it has not so many lines, or it takes too long.
        """
        cleaned = clean_path(path)
        try:
            with anyio.move_on_after(_TIMEOUT_S) as scope:
                origins = await read_line_origins(self._git, self._base, cleaned, start, end)
        except GitError as error:
            raise ToolRefused(
                f"lines {start} to {end} of {cleaned!r} cannot be told: the run's base has no such file, or fewer lines"
            ) from error
        if scope.cancelled_caught:
            raise ToolRefused(f"blame of {cleaned} takes more than {_TIMEOUT_S:.0f} s: its history is too long")
        lines = []
        for origin in origins:
            text = strip_controls(origin.text)[:_LINE_CHARS]
            lines.append(BlamedLine(origin.number, origin.oid[:_SHORT], _format_date(origin.authored), text))
        return lines

    async def find_tests(self, commit: CommitId, path: str) -> ConcernedTestFiles:
        """Return the files of tests that are called like a path or import it, by whatever way round.

        Raises:
            ToolRefused: the path leads out of the repository, or objects are missing.
        """
        cleaned = clean_path(path)
        with _refuse_missing_objects("list of tests"):
            paths, graph = await self._read_imports(commit)
        below = []
        for one in paths:
            if one == cleaned or one.startswith(f"{cleaned}/"):
                below.append(one)
        files = await to_thread.run_sync(_select_by_each, below or [cleaned], paths, graph)
        return ConcernedTestFiles(files, graph is not _NO_GRAPH)

    async def list_tests(self, commit: CommitId, limit: int) -> tuple[int, Sequence[TestFile]]:
        """Return how many files hold tests, and at most `limit` of them with what they import, by path."""
        paths, graph = await self._read_imports(commit)
        tests = sorted(filter(is_test_file, paths))
        listed = []
        for path in tests[:limit]:
            imported = []
            for other in sorted(graph.imports.get(path, ())):
                if not is_test_file(other):
                    imported.append(other)
            listed.append(TestFile(path, imports=tuple(imported)))
        return len(tests), listed

    async def _read_imports(self, commit: CommitId) -> tuple[list[str], ImportGraph]:
        """Return all paths of a commit, and who imports what; nothing of that where there is too much to read."""
        paths, code = [], 0
        for entry in await list_tree(self._git, commit):
            paths.append(entry.path)
            code += entry.path.endswith(PYTHON_SUFFIXES) or PurePosixPath(entry.path).suffix in SCRIPT_SUFFIXES
        if code > _MAX_GRAPH_FILES:
            return paths, _NO_GRAPH
        if self._known_graph is None or self._known_graph[0] != commit:
            self._known_graph = commit, await self._graphs.read_graph(self._git, commit)
        return paths, self._known_graph[1]


@contextmanager
def _refuse_missing_objects(wanted: str) -> Iterator[None]:
    """Refuse the tool where git cannot read what it needs."""
    try:
        yield
    except GitError as error:
        raise ToolRefused(f"there is no {wanted}: the repository does not have all of its objects") from error


def clean_path(path: str) -> str:
    """Return a path as git has it, empty for the whole repository; a glob's end is cut off.

    Raises:
        ToolRefused: it leads out of the repository.
    """
    text = path.strip().removesuffix("**").removesuffix("*").strip("/")
    cleaned = posixpath.normpath(text) if text else ""
    if cleaned.split("/")[0] == "..":
        raise ToolRefused(f"{path!r} leads out of the repository: name a path below its top directory")
    return "" if cleaned == "." else cleaned


def _format_date(seconds: int) -> str:
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d}"
    except (OverflowError, ValueError, OSError):
        return "?"


def _select_by_each(wanted: Sequence[str], paths: Sequence[str], graph: ImportGraph) -> tuple[str, ...]:
    """Return the tests of all these paths together, first those that are called like one or import it themselves."""
    near, found = set[str](), set[str]()
    for path in wanted[:_MAX_WANTED]:
        near.update(graph.importers.get(path, ()))
        near.update(select_concerned_tests([path], paths, set[str]().union).files or ())
        found.update(select_concerned_tests([path], paths, graph.find_dependents).files or ())
    return tuple(sorted(found, key=lambda test: (test not in near, test)))
