"""The files of tests that a change concerns, on any tree of a run."""

from collections.abc import Iterable

from anyio import to_thread

from orchestrator.domain.ids import CommitId
from orchestrator.engine.context import RunContext
from orchestrator.judge.files.classification import is_prose
from orchestrator.judge.selection.import_graph import ImportGraph
from orchestrator.judge.selection.selected_runs import ConcernedTests
from orchestrator.judge.selection.selected_tests import is_test_file, select_concerned_tests
from worktrees.object_store.trees import list_tree


async def select_tests_of_change(
    context: RunContext, commit: CommitId, changed: Iterable[str]
) -> ConcernedTests | None:
    """Return the files of tests that changed paths concern; None if that is most of them, or cannot be told.

    Raises:
        GitError: the commit does not exist.
    """
    git = context.repository.git
    graph = await context.import_graphs.read_graph(git, commit)
    paths = [entry.path for entry in await list_tree(git, commit)]
    return await to_thread.run_sync(_select_files, list(changed), paths, graph)


def _select_files(changed: list[str], paths: list[str], graph: ImportGraph) -> ConcernedTests | None:
    code = [path for path in changed if not is_prose(path)]
    code += _list_neighbours(code, graph)
    chosen = select_concerned_tests(code, paths, graph.find_dependents)
    if chosen.files is None or 2 * len(chosen.files) > sum(map(is_test_file, paths)):
        return None
    return ConcernedTests(chosen.files, frozenset(paths))


def _list_neighbours(changed: list[str], graph: ImportGraph) -> list[str]:
    """Return the tests that import what changed tests import as well: these can alter it for those."""
    found = set[str]()
    for path in filter(is_test_file, changed):
        for imported in graph.imports.get(path, ()):
            found.update(filter(is_test_file, graph.importers.get(imported, ())))
    return sorted(found.difference(changed))


async def select_test_files(context: RunContext, commit: CommitId, paths: Iterable[str]) -> ConcernedTests | None:
    """Return those of the paths that a runner of tests can be given; None if there are none.

    Raises:
        GitError: the commit does not exist.
    """
    files = tuple(filter(is_test_file, paths))
    if not files:
        return None
    tree = await list_tree(context.repository.git, commit)
    return ConcernedTests(files, frozenset(entry.path for entry in tree))
