"""Modules that only tests use, told by what they do: they import a test runner, or assert in place of a test."""

import ast
from collections.abc import Iterable, Iterator

from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.judge.source.python_syntax import FunctionNode, find_nodes, get_last_name, parse_python

_RUNNERS = frozenset({"pytest", "unittest", "hypothesis", "doctest", "nose", "testtools"})
_JAVASCRIPT_RUNNER = compile_lazily(
    rb"""["'](?:node:assert(?:/strict)?|assert|node:test|vitest|chai|@jest/globals|mocha|jest|ava|tape|expect)["']"""
)


def is_test_helper(source: bytes, users: Iterable[bytes], *, is_python: bool) -> bool:
    """Return True if a module does what belongs to tests; `users` are the sources that import it. Blocks."""
    if not is_python:
        return bool(_JAVASCRIPT_RUNNER.search(source))
    tree = parse_python(source)
    if tree is None:
        return False
    if _imports_runner(tree):
        return True
    asserting = frozenset(_list_asserting_functions(tree))
    return any(_has_asserting_call(user, asserting) for user in users)


def _list_asserting_functions(tree: ast.Module) -> Iterator[str]:
    """Yield the names of functions at the top that assert something of what they are given and return nothing."""
    for node in tree.body:
        if isinstance(node, FunctionNode) and _asserts(node) and not _returns_value(node):
            yield node.name


def _has_asserting_call(user: bytes, names: frozenset[str]) -> bool:
    """Return True if a source calls one of these functions for nothing but that it may raise."""
    if not any(name.encode() in user for name in names):
        return False
    tree = parse_python(user)
    expected = set[ast.AST]()
    for block in find_nodes(tree, ast.With) if tree else ():
        expected.update(block.body)  # `with raises(…)`: there it is what is tested
    for statement in find_nodes(tree, ast.Expr) if tree else ():
        is_call = isinstance(statement.value, ast.Call) and statement not in expected
        if is_call and get_last_name(statement.value) in names:
            return True
    return False


def _imports_runner(tree: ast.Module) -> bool:
    for node in find_nodes(tree, ast.Import):
        if any(alias.name.partition(".")[0] in _RUNNERS for alias in node.names):
            return True
    for source in find_nodes(tree, ast.ImportFrom):
        if not source.level and (source.module or "").partition(".")[0] in _RUNNERS:
            return True
    return False


def _asserts(function: FunctionNode) -> bool:
    if next(find_nodes(function, ast.Assert), None):
        return True
    for node in find_nodes(function, ast.Raise):
        raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        if isinstance(raised, ast.Name) and raised.id == "AssertionError":
            return True
    return False


def _returns_value(function: FunctionNode) -> bool:
    return any(node.value is not None for node in find_nodes(function, ast.Return))
