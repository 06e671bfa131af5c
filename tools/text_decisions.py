"""Find code that decides by the text of a notice, a reason or an id, where a typed field should say it."""

import ast
from collections.abc import Iterator

from tools.measure_style import Module

PROSE = frozenset({"detail", "notice", "purpose", "reason", "summary"})
"""Attributes that hold text for people: a decision may not rest on what it says."""
IDS = frozenset({"attempt", "attempt_id", "session", "task", "task_id", "unit", "unit_id"})
"""Attributes and variables that hold ids: their parts are asked of the id, never cut out of it."""

_CUTS = frozenset(
    {"endswith", "partition", "removeprefix", "removesuffix", "rpartition", "rsplit", "split", "startswith"}
)
_OPERATORS = (ast.Eq, ast.NotEq, ast.In, ast.NotIn)


def find_text_decisions(modules: list[Module], allowed: frozenset[str] = frozenset()) -> list[str]:
    """Return what decides by prose or cuts an id apart, as `path:line text`; modules in `allowed` are left out."""
    found = []
    for module in modules:
        if module.path not in allowed:
            for node in _iterate_decisions(module.tree):
                found.append(f"{module.path}:{node.lineno} {ast.unparse(node)[:100]}")
    return found


def _iterate_decisions(tree: ast.AST) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CUTS:
            if _is_prose(node.func.value) or _is_id(node.func.value):
                yield node
        elif isinstance(node, ast.Compare) and _compares_prose(node):
            yield node


def _compares_prose(node: ast.Compare) -> bool:
    left, right = node.left, node.comparators[0]
    return isinstance(node.ops[0], _OPERATORS) and (
        _are_prose_and_words(left, right) or _are_prose_and_words(right, left)
    )


def _are_prose_and_words(prose: ast.expr, words: ast.expr) -> bool:
    """Return True if prose is compared with words that stand in the code; being empty is no word."""
    if not _is_prose(prose):
        return False
    if isinstance(words, ast.Constant):
        return words.value not in ("", None)
    return isinstance(words, ast.JoinedStr)


def _is_prose(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in PROSE


def _is_id(node: ast.expr) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr in IDS
    return isinstance(node, ast.Name) and node.id in IDS
