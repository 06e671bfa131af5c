"""The files that hold tests, by the tests' ids, and checks that run nothing but those files."""

import re
import shlex
from collections.abc import Container, Iterator, Sequence

from orchestrator.domain.judging.check import CheckSpec
from orchestrator.domain.recipe.model import Recipe
from orchestrator.judge.reports.parsed_report import COLLECTION_PREFIX, SET_UP_PREFIX, SUITE_PREFIX

_PREFIXES = (COLLECTION_PREFIX, SET_UP_PREFIX, SUITE_PREFIX)
_ENDINGS = (".py", ".js", ".mjs", ".cjs", ".ts", ".tsx", ".jsx", ".rb", ".php", ".java", ".kt", ".go")
_ROOTS = ("", "src/", "test/", "tests/", "src/test/java/", "src/test/kotlin/")
_MOST_FILES = 50
"""With more files than this a narrow run saves little, and its command line may become too long."""


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


class CheckNarrower:
    """Makes checks of a recipe narrow: see `orchestrator.judge.gate.narrowing.Narrow`."""

    def __init__(self, recipe: Recipe, paths: Container[str]) -> None:
        """Set up.

        Args:
            recipe: checks with `{tests}` in their command can be narrowed.
            paths: every file of the tree that the migration starts from.
        """
        self._commands = {check.id: check.run for check in recipe.verify.check if "{tests}" in check.run}
        self._paths = paths

    def __call__(self, spec: CheckSpec, tests: Sequence[str]) -> CheckSpec | None:
        """Return the check over the files of these tests; None if it takes none, or if one's file is not known."""
        found = {find_test_file(test, self._paths) for test in tests}
        if spec.id not in self._commands or not found or None in found or len(found) > _MOST_FILES:
            return None
        files = " ".join(shlex.quote(path) for path in sorted(filter(None, found)))
        return spec.model_copy(update={"run": self._commands[spec.id].replace("{tests}", files)})
