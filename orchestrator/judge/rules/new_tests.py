"""New tests have to show something of the change that brings them: they fail without it, on the base."""

import ast
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath

from orchestrator.domain.judging.check import Outcomes, TestOutcome
from orchestrator.domain.judging.verdict import Finding
from orchestrator.judge.files.changed_file import ChangedFile
from orchestrator.judge.files.path_protection import PathProtection, find_path_protection, is_test_path
from orchestrator.judge.reports import is_test_id as names_test
from orchestrator.judge.source.python_syntax import parse_python

_PASSED = frozenset({TestOutcome.PASSED, TestOutcome.XPASSED})
_PROSE = frozenset({".md", ".markdown", ".rst", ".adoc", ".txt"})
_HINTS = frozenset({"typing", "typing_extensions", "__future__", "collections.abc"})
_SHOWN = 12


def list_new_test_files(files: Sequence[ChangedFile], is_granted: Callable[[str], bool]) -> tuple[str, ...]:
    """The files among tests that are new or were changed without a grant."""
    return tuple(
        file.path
        for file in files
        if not file.is_deleted and find_path_protection(file.path) == PathProtection.TESTS and not is_granted(file.path)
    )


def has_behaviour_change(files: Sequence[ChangedFile]) -> bool:
    """Whether a change touches code, beyond comments, docstrings and type hints. Blocks."""
    return any(_is_code(file.path) and not _means_the_same(file) for file in files)


def check_new_tests(before: Outcomes, now: Outcomes, without_change: Outcomes, is_strict: bool) -> Finding | None:
    """What is to be said of the tests that a change adds; blocking if none of them shows anything of it.

    Args:
        before: outcomes on the base.
        now: outcomes on the candidate.
        without_change: outcomes on the base with the new tests in it.
        is_strict: whether it may block. It does not if a test that was red on the base shows the change.
    """
    added = sorted(test for test, outcome in now.items() if outcome in _PASSED and test not in before)
    added = list(filter(names_test, added))
    idle = []
    for test in added:
        if without_change.get(test) in _PASSED:
            idle.append(test)
    if not idle or 2 * len(idle) <= len(added):
        return None
    told = f"{', '.join(idle[:_SHOWN])}{f' and {len(idle) - _SHOWN} more' if len(idle) > _SHOWN else ''}"
    if len(idle) < len(added):
        text = f"of {len(added)} new tests these {len(idle)} pass without the change, too: {told}"
        return Finding(rule="new-tests", text=text, is_blocking=False)
    is_shown = any(outcome in _PASSED and before.get(test) in _RED for test, outcome in now.items())
    text = f"every new test passes without the change, too, so none shows anything of it ({len(idle)}): {told}"
    return Finding(rule="new-tests", text=f"{text}{_ADVICE}", is_blocking=is_strict and not is_shown)


_RED = frozenset(outcome for outcome in TestOutcome if outcome.is_red)
_ADVICE = (
    ". Test what the change makes different; leave tests of what was so before to a change of tests alone, or to a "
    "task whose plan grants them"
)


def _is_code(path: str) -> bool:
    place = PurePosixPath(path)
    is_other = (
        is_test_path(path)
        or find_path_protection(path) == PathProtection.CONFIGURATION
        or place.parts[0] in {"docs", "doc"}
    )
    return not (is_other or place.suffix.lower() in _PROSE or place.name.startswith("."))


def _means_the_same(file: ChangedFile) -> bool:
    if not file.is_python or file.is_unread:
        return False
    trees = []
    for content in (file.before, file.after):
        trees.append(parse_python(content or b""))
    old, new = (None if tree is None else ast.dump(_Bare().visit(tree)) for tree in trees)
    return old is not None and old == new


class _Bare(ast.NodeTransformer):
    """Takes out what tells readers and type checkers something, and the interpreter nothing."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        if isinstance(node.value, ast.Constant):
            return None
        return self.generic_visit(node)

    def visit_Pass(self, node: ast.Pass) -> None:
        return None

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return ast.arg(node.arg)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> ast.AST | None:
        if all(alias.name in _HINTS for alias in node.names):
            return None
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | None:
        if node.module in _HINTS:
            return None
        return node

    def visit_If(self, node: ast.If) -> ast.AST | None:
        is_for_checkers = ast.unparse(node.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}
        if is_for_checkers:
            return None
        return self.generic_visit(node)
