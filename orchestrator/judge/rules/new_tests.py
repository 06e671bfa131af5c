"""New tests have to show something of the change that brings them: they fail without it, on the base."""

import ast
from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePosixPath

from orchestrator.domain.judging.check import PASSED_OUTCOMES
from orchestrator.domain.judging.verdict import Finding, RuleId
from orchestrator.domain.run.grant import Grant, GrantIntent
from orchestrator.domain.text.listing import join_limited
from orchestrator.judge.files.changed_file import ChangedFile, PathProtection, find_path_protection, is_test_path
from orchestrator.judge.reports import is_test_id
from orchestrator.judge.rules.change_facts import ChangeFacts, NewTestOutcomes, build_flag
from orchestrator.judge.source.python_syntax import FunctionNode, get_last_name, parse_python

_PROSE = frozenset({".md", ".markdown", ".rst", ".adoc", ".txt"})
_HINTS = frozenset({"typing", "typing_extensions", "__future__", "collections.abc"})
_TYPE_PARAMETERS = frozenset({"TypeVar", "ParamSpec", "TypeVarTuple"})
_MAX_SHOWN = 12
_ADVICE = (
    "Test what the change makes different; leave tests of what was so before to a change of tests alone, or to a "
    "task whose plan grants them"
)


def list_new_test_files(files: Sequence[ChangedFile], is_granted: Callable[[str], bool]) -> tuple[str, ...]:
    """Return the files among tests that are new or were changed without a grant."""
    paths = [file.path for file in files if not file.is_deleted and not is_granted(file.path)]
    return tuple(path for path in paths if find_path_protection(path) == PathProtection.TESTS)


def has_behaviour_change(files: Sequence[ChangedFile]) -> bool:
    """Return True if a change touches code, beyond comments, docstrings and type hints. Blocks."""
    return any(_is_code(file.path) and not _is_equivalent(file) for file in files)


def check_new_tests(facts: ChangeFacts) -> Iterator[Finding]:
    """Yield a finding if more than half of the new tests pass without the change.

    It may block if all do, unless a test that was red on the base shows the change.
    """
    tests = facts.new_tests
    if tests is None:
        return
    added, idle = _list_added_tests(tests)
    if not idle or 2 * len(idle) <= len(added):
        return
    names = join_limited(idle, _MAX_SHOWN)
    if len(idle) < len(added):
        text = f"of {len(added)} new tests these {len(idle)} pass without the change, too: {names}"
        yield build_flag(RuleId.NEW_TESTS, text)
        return
    shown = f"so none shows anything of it ({len(idle)}): {names}"
    text = f"every new test passes without the change, too, {shown}. {_ADVICE}"
    is_blocking = tests.is_strict and not _has_mended_test(tests)
    grant = Grant(paths=tuple(tests.paths), may=(GrantIntent.REWRITE,)) if is_blocking and tests.paths else None
    yield Finding(rule=RuleId.NEW_TESTS, text=text, is_blocking=is_blocking, needed_grant=grant)


def _list_added_tests(tests: NewTestOutcomes) -> tuple[Sequence[str], Sequence[str]]:
    """Return the new tests that pass, and those of them that pass without the change as well."""
    added, idle = [], []
    for test, outcome in sorted(tests.now.items()):
        if outcome in PASSED_OUTCOMES and test not in tests.before and is_test_id(test):
            added.append(test)
            if tests.without_change.get(test) in PASSED_OUTCOMES:
                idle.append(test)
    return added, idle


def _has_mended_test(tests: NewTestOutcomes) -> bool:
    return any(before.is_red and tests.now.get(test) in PASSED_OUTCOMES for test, before in tests.before.items())


def _is_code(path: str) -> bool:
    place = PurePosixPath(path)
    is_other = (
        is_test_path(path)
        or find_path_protection(path) == PathProtection.CONFIGURATION
        or place.parts[0] in {"docs", "doc"}
    )
    return not (is_other or place.suffix.lower() in _PROSE or place.name.startswith("."))


def _is_equivalent(file: ChangedFile) -> bool:
    if not file.is_python or file.is_unread:
        return False
    old, new = _dump_behaviour(file.before), _dump_behaviour(file.after)
    return old is not None and old == new


def _dump_behaviour(content: bytes | None) -> str | None:
    """Return the syntax tree of a source without docstrings and type hints as text; None if it cannot be parsed."""
    if tree := parse_python(content or b""):
        return ast.dump(_HintRemover().visit(tree))
    return None


class _HintRemover(ast.NodeTransformer):
    """Takes out what tells readers and type checkers something, and the interpreter nothing."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        return None if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def visit_Pass(self, node: ast.Pass) -> None:
        return None

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return ast.arg(node.arg)

    def visit_FunctionDef(self, node: FunctionNode) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Import(self, node: ast.Import) -> ast.AST | None:
        return None if _HINTS.issuperset(alias.name for alias in node.names) else node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | None:
        return None if node.module in _HINTS else node

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        is_for_hints = isinstance(node.value, ast.Call) and get_last_name(node.value) in _TYPE_PARAMETERS
        return None if is_for_hints else self.generic_visit(node)

    def visit_If(self, node: ast.If) -> ast.AST | None:
        is_for_checkers = ast.unparse(node.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}
        return None if is_for_checkers else self.generic_visit(node)
