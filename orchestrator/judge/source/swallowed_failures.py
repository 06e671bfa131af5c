"""Statements that go on when an assertion in them fails."""

import ast

from orchestrator.judge.source.assertions import list_assertions
from orchestrator.judge.source.python_syntax import find_nodes, get_last_name

_SWALLOWED = frozenset({"Exception", "BaseException", "AssertionError"})


def swallows_assertions(node: ast.stmt) -> bool:
    """Return True if a statement holds assertions, and goes on when one fails."""
    match node:
        case ast.Try(body=body, handlers=handlers):
            return any(map(_is_silent, handlers)) and bool(list_assertions(body))
        case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
            return any(map(suppresses_failures, items)) and bool(list_assertions(body))
    return False


def _is_silent(handler: ast.ExceptHandler) -> bool:
    """Return True if a handler catches failed assertions, and neither raises nor asserts anything."""
    if not _is_broad(handler.type):
        return False
    return not any(find_nodes(handler, ast.Raise)) and not list_assertions(handler.body)


def suppresses_failures(item: ast.withitem) -> bool:
    """Return True for `suppress(AssertionError)` and the like."""
    call = item.context_expr
    return isinstance(call, ast.Call) and get_last_name(call) == "suppress" and any(map(_is_broad, call.args))


def _is_broad(caught: ast.expr | None) -> bool:
    if caught is None:
        return True
    if isinstance(caught, ast.Tuple):
        return any(map(_is_broad, caught.elts))
    return get_last_name(caught) in _SWALLOWED
