"""The tests that checks run: the files for `{tests}`, by what changed, and the files that hold tests, by their ids."""

import re
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from orchestrator.domain.recipe.verify import VerifyCheck
from orchestrator.domain.text.command_lines import quote_paths, split_for_command_line
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.judge.files.changed_file import is_test_path
from orchestrator.judge.reports.parsed_report import COLLECTION_PREFIX, SET_UP_PREFIX, SUITE_PREFIX

FindImporters = Callable[[Iterable[str]], set[str]]
"""Paths to the paths of all files that import one of them, by whatever way round."""
TESTS_PLACEHOLDER = "{tests}"
_AFFIXES = compile_lazily(r"\A(?:tests?[_-])?(.+?)(?:[._-](?:test|tests|spec))?\Z")
_NO_TESTS = frozenset({"conftest", "__init__"})
_RUN = (".py", ".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".go", ".rb", ".java")


_PREFIXES = (COLLECTION_PREFIX, SET_UP_PREFIX, SUITE_PREFIX)
_ENDINGS = (".py", ".js", ".mjs", ".cjs", ".ts", ".tsx", ".jsx", ".rb", ".php", ".java", ".kt", ".go")
_ROOTS = ("", "src/", "test/", "tests/", "src/test/java/", "src/test/kotlin/")


@dataclass(frozen=True)
class SelectedTests:
    """Test files, sorted, or None where all tests are to run, such as for `files_without_tests`."""

    files: tuple[str, ...] | None
    files_without_tests: tuple[str, ...] = ()

    def format_command(self, check: VerifyCheck) -> str:
        """Return the check's command for this selection."""
        if self.files is None:
            return check.run.replace(TESTS_PLACEHOLDER, check.all)
        return check.run.replace(TESTS_PLACEHOLDER, quote_paths(self.files))


ALL_TESTS = SelectedTests(None)


def select_tests(
    check: VerifyCheck, changed: Iterable[str], files: Sequence[str], importers: FindImporters
) -> SelectedTests:
    """Return the tests of a check for the files that changed; all of them where they do not fit on a command line.

    A changed file for which there is no test makes it all of them: that nothing is selected says nothing of it.

    Args:
        check: whose `tests` is changed or changed+importers; anything else selects all.
        changed: paths.
        files: all paths of the tree.
        importers: who imports what.
    """
    if check.tests == "changed+importers":
        return select_concerned_tests(changed, files, importers)
    if check.tests == "changed":
        return select_concerned_tests(changed, files, _find_no_importers)
    return ALL_TESTS


def select_concerned_tests(changed: Iterable[str], files: Iterable[str], importers: FindImporters) -> SelectedTests:
    """Return the tests that are among the changed files, called like one of them, or import one by whatever way round.

    A changed file for which there is no test makes it all of them, and so does no changed file at all.
    """
    tests = frozenset(filter(is_test_file, files))
    chosen: set[str] = set()
    lonely = []
    for path in changed:
        found = _find_own_tests(path, tests) | (importers([path]) & tests)
        if not found:
            lonely.append(path)
        chosen |= found
    if lonely:
        return SelectedTests(None, tuple(sorted(lonely)))
    if chosen:
        return limit_to_command_line(sorted(chosen))
    return ALL_TESTS


def _find_no_importers(_paths: Iterable[str]) -> set[str]:
    return set()


def limit_to_command_line(tests: Sequence[str]) -> SelectedTests:
    """Return these tests, or all where they do not fit on a command line."""
    if len(list(split_for_command_line(tests))) == 1:
        return SelectedTests(tuple(tests))
    return ALL_TESTS


def parse_selected_tests(output: str, files: Iterable[str]) -> SelectedTests:
    """Return the tests that a `select` command has printed, one a line; all tests if it names none that is there."""
    known = frozenset(files)
    named = set()
    for line in output.splitlines():
        if line.strip():
            named.add(str(PurePosixPath(line.strip())))
    return limit_to_command_line(sorted(named & known)) if named & known else ALL_TESTS


def _find_own_tests(path: str, tests: Iterable[str]) -> set[str]:
    """Return the file itself if it is a test, else the tests that are called like it."""
    if is_test_file(path):
        return {path}
    name = PurePosixPath(path).stem
    if not is_test_path(path):
        return {test for test in tests if _strip_test_affixes(test) == name}
    return set()


def is_test_file(path: str) -> bool:
    """Return True if a test runner can be given it: it is a test, and no data or configuration among tests."""
    if not path.endswith(_RUN):
        return False
    stem = path.rpartition("/")[2].rpartition(".")[0]
    return bool(stem) and stem not in _NO_TESTS and _strip_test_affixes(path) != stem and is_test_path(path)


def _strip_test_affixes(path: str) -> str:
    """Return `core` for `tests/test_core.py`, `core_test.go` and `core.spec.ts`."""
    name = path.rpartition("/")[2]
    found = _AFFIXES.match(name.rpartition(".")[0] or name)
    return found[1] if found else path


def find_test_file(test: str, paths: Container[str]) -> str | None:
    """Return the file that a test stands in, None if its id does not tell.

    Args:
        test: its id as a report has it: a path with `::` (pytest), a dotted name with or without class and method
            (JUnit, unittest), with what is put before modules that cannot be imported.
        paths: every file of the tree.
    """
    for prefix in _PREFIXES:
        test = test.removeprefix(prefix)
    place = re.sub(r" #\d+\Z", "", test).partition("::")[0].partition(" ")[0]
    return next((path for path in _candidates(place) if path in paths), None)


def _candidates(place: str) -> Iterator[str]:
    yield place
    parts = place.split(".")
    for count in range(len(parts), 0, -1):
        for root in _ROOTS:
            for ending in _ENDINGS:
                yield root + "/".join(parts[:count]) + ending
