"""Which test files stand for `{tests}` in a check, from the files that changed."""

import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from orchestrator.domain.recipe.verify import VerifyCheck
from orchestrator.judge.files.path_protection import is_test_path
from orchestrator.migrate.sites.command_search import split_for_command_line

FindImporters = Callable[[Iterable[str]], set[str]]
"""Paths to the paths of all files that import one of them, by whatever way round."""
TESTS_PLACEHOLDER = "{tests}"
_AFFIXES = re.compile(r"\A(?:tests?[_-])?(.+?)(?:[._-](?:test|tests|spec))?\Z")
_NO_TESTS = frozenset({"conftest", "__init__"})
_RUN = (".py", ".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".go", ".rb", ".java")


@dataclass(frozen=True)
class SelectedTests:
    """Test files, sorted, or None where all tests are to run; `because` are the changed files that made it all."""

    files: tuple[str, ...] | None
    files_without_tests: tuple[str, ...] = ()

    def format_command(self, check: VerifyCheck) -> str:
        """The check's command for this selection."""
        if self.files is None:
            chosen = check.all
        else:
            chosen = " ".join(map(_word, self.files))
        return check.run.replace(TESTS_PLACEHOLDER, chosen)


ALL_TESTS = SelectedTests(None)


def select_tests(
    check: VerifyCheck, changed: Iterable[str], files: Sequence[str], importers: FindImporters
) -> SelectedTests:
    """The tests of a check for the files that changed; all of them where they do not fit on a command line.

    A changed file for which there is no test makes it all of them: that nothing is selected says nothing of it.

    Args:
        check: whose `tests` is changed or changed+importers; anything else selects all.
        changed: paths.
        files: all paths of the tree.
        importers: who imports what.
    """
    if check.tests not in ("changed", "changed+importers"):
        return ALL_TESTS
    tests = [path for path in files if _is_runnable(path)]
    own = {path: _own_tests(path, tests) for path in changed}
    if check.tests == "changed+importers":
        known = frozenset(tests)
        own = {path: found | (importers([path]) & known) for path, found in own.items()}
    if lonely := tuple(sorted(path for path, found in own.items() if not found)):
        return SelectedTests(None, lonely)
    if own:
        return limit_to_command_line(sorted(set().union(*own.values())))
    return ALL_TESTS


def limit_to_command_line(tests: Sequence[str]) -> SelectedTests:
    """These tests, or all where they do not fit on a command line."""
    if len(list(split_for_command_line(tests))) == 1:
        return SelectedTests(tuple(tests))
    return ALL_TESTS


def parse_selected_tests(output: str, files: Iterable[str]) -> SelectedTests:
    """What a `select` command has printed: a test file a line; all tests if it names none that is there."""
    known = frozenset(files)
    named = set()
    for line in output.splitlines():
        if line.strip():
            named.add(str(PurePosixPath(line.strip())))
    if named & known:
        return limit_to_command_line(sorted(named & known))
    return ALL_TESTS


def _own_tests(path: str, tests: Iterable[str]) -> set[str]:
    """The file itself if it is a test, else the tests that are called like it."""
    if _is_runnable(path):
        return {path}
    name = PurePosixPath(path).stem
    if not is_test_path(path):
        return {test for test in tests if _tested(test) == name}
    return set()


def _is_runnable(path: str) -> bool:
    """Whether a test runner can be given it: a test, and no data or configuration among tests."""
    place = PurePosixPath(path)
    is_named = _tested(path) != place.stem
    return is_test_path(path) and is_named and place.stem not in _NO_TESTS and place.suffix in _RUN


def _tested(path: str) -> str:
    """`core` for `tests/test_core.py`, `core_test.go` and `core.spec.ts`."""
    found = _AFFIXES.match(PurePosixPath(path).stem)
    if found:
        return found[1]
    return path


def _word(path: str) -> str:
    return shlex.quote(f"./{path}" if path.startswith("-") else path)
