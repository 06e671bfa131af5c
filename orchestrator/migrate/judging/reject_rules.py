"""`[judge] reject_if`: what nobody asked for in the change of a file."""

import ast
import re
from collections.abc import Iterable, Iterator

from orchestrator.judge.files.path_protection import is_test_path
from orchestrator.judge.source.python_syntax import parse_python
from orchestrator.judge.source.testcases import list_test_functions
from orchestrator.migrate.judging.file_change import ChangedRegion, FileChange, RuleViolation
from orchestrator.migrate.recipe import Recipe
from orchestrator.migrate.scope.inventory import is_in_scope

_JS = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx")
_JS_TEST = re.compile(rb"(?<![\w.$])(?:it|test|specify)(?:\.\w+)?\s*\(")


def find_objection(change: FileChange, recipe: Recipe) -> RuleViolation | None:
    """The first reason under `[judge] reject_if` to reject the change; None if there is none."""
    return next(_objections(change, recipe), None)


def _objections(change: FileChange, recipe: Recipe) -> Iterator[RuleViolation]:
    rules = recipe.judge
    if "out-of-scope-path" in rules.reject_if and not is_in_scope(recipe.scope, change.path):
        yield RuleViolation("it is not in scope", "it is not in scope")
    if "deleted-test" in rules.reject_if and is_test_path(change.path) and (lost := list_deleted_tests(change)):
        yield RuleViolation(f"tests are gone from it: {', '.join(lost[:3])}", "tests are gone from it")
    if "unrelated-hunk" in rules.reject_if and recipe.scope.site:
        far = count_unrelated_lines(change.regions, (place.line for place in change.sites_before), rules.near)
        if far > rules.max_unrelated_lines:
            words = f"changed lines are further than {rules.near} lines from any site"
            yield RuleViolation(f"{far} {words}, at most {rules.max_unrelated_lines} may be", words)


def count_unrelated_lines(regions: Iterable[ChangedRegion], sites: Iterable[int], near: int) -> int:
    """How many changed lines lie further than `near` lines from every line of `sites`.

    Args:
        regions: what changed.
        sites: lines of the old file.
        near: how many lines away from a site a change still belongs to it.
    """
    known = sorted(set(sites))
    return sum(not any(abs(line - site) <= near for site in known) for line in _old_lines(regions))


def _old_lines(regions: Iterable[ChangedRegion]) -> Iterator[int]:
    """For each changed line the line of the old file where that is: new lines stand for those they replace."""
    for region in regions:
        yield from range(region.old_line, region.old_line + region.removed)
        last = max(region.removed - 1, 0)
        for number in range(region.added):
            yield region.old_line + min(number, last)


def list_deleted_tests(change: FileChange) -> list[str]:
    """Tests that the file no longer has, by name; of scripts only how many fewer they are. Blocks."""
    if change.path.endswith(".py"):
        before, after = (parse_python(content) for content in (change.before, change.after))
        if before and after:
            return sorted(_names(before) - _names(after))
        return []
    if change.path.endswith(_JS):
        fewer = len(_JS_TEST.findall(change.before)) - len(_JS_TEST.findall(change.after))
        if fewer > 0:
            return [f"{fewer} calls of it or test"]
        return []
    return []


def _names(tree: ast.Module) -> set[str]:
    return {function.name for function in list_test_functions("", tree) if function.is_collected}
