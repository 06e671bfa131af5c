"""The checks of a recipe, narrowed to the files of some tests."""

import shlex
from collections.abc import Container, Sequence

from orchestrator.domain.judging.check import CheckSpec
from orchestrator.domain.recipe.model import Recipe
from orchestrator.judge.selection.selected_tests import find_test_file

_MOST_FILES = 50
"""With more files than this a narrow run saves little, and its command line may become too long."""


def narrow_check(recipe: Recipe, paths: Container[str], spec: CheckSpec, tests: Sequence[str]) -> CheckSpec | None:
    """Return the check over the files of these tests; None if it takes none, or if one's file is not known.

    Args:
        recipe: checks with `{tests}` in their command can be narrowed.
        paths: every file of the tree that the migration starts from.
        spec: the check, see `orchestrator.judge.gate.difference.Narrow`.
        tests: as reports name them.
    """
    found = {find_test_file(test, paths) for test in tests}
    run = next((check.run for check in recipe.verify.check if check.id == spec.id), "")
    if "{tests}" not in run or not found or None in found or len(found) > _MOST_FILES:
        return None
    files = " ".join(map(shlex.quote, sorted(filter(None, found))))
    return spec.model_copy(update={"run": run.replace("{tests}", files)})
