"""Python source as a syntax tree, without running anything of it."""

import ast
import io
import threading
import tokenize
import warnings
from collections.abc import Iterator
from functools import lru_cache
from typing import TypeVar

Node = TypeVar("Node", bound=ast.AST)
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
MAX_TREE_DEPTH = 150
"""How deep a tree may go that is still looked into: Python's own tools for trees call themselves for every level."""

PARSER_LOCK = threading.Lock()
"""To be held by whatever calls `ast.parse`: CPython 3.11 counts its recursion for all threads together
(python/cpython#106905)."""


def parse_python(source: bytes) -> ast.Module | None:
    """Return the tree; None if nobody can read it as Python, or it goes too deep. Blocks."""
    tree = _parse(source)
    return None if tree is None or _is_deep(tree) else tree


def is_too_deep(source: bytes) -> bool:
    """Return True if it is Python, and goes too deep to be looked into. Blocks."""
    tree = _parse(source)
    return tree is not None and _is_deep(tree)


def parse_source(source: bytes | str) -> ast.Module:
    """Return the tree, however deep it goes, parsed while no other thread parses. Blocks.

    Raises:
        SyntaxError, ValueError, LookupError, RecursionError, MemoryError: as `ast.parse` does.
    """
    with PARSER_LOCK, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source)


def _parse(source: bytes) -> ast.Module | None:
    try:
        return parse_source(source)
    except (SyntaxError, ValueError, LookupError, RecursionError, MemoryError):
        return None


def _is_deep(tree: ast.AST) -> bool:
    level: list[ast.AST] = [tree]
    for _ in range(MAX_TREE_DEPTH):
        below: list[ast.AST] = []
        for node in level:
            below += ast.iter_child_nodes(node)
        if not below:
            return False
        level = below
    return True


def tokenize_python(source: bytes) -> tuple[tokenize.TokenInfo, ...] | None:
    """Return its tokens, comments among them; None if nobody can read it as Python. Blocks."""
    try:
        return tuple(tokenize.tokenize(io.BytesIO(source).readline))
    except (SyntaxError, ValueError, LookupError, RecursionError, tokenize.TokenError):
        return None  # a lookup fails for a coding that is none of text: `# coding: zlib`


def find_nodes(tree: ast.AST, kind: type[Node]) -> Iterator[Node]:
    """Yield the nodes of one kind in a tree, itself among them, breadth first."""
    for node in ast.walk(tree):
        if isinstance(node, kind):
            yield node


@lru_cache(maxsize=4)
def list_module_nodes(tree: ast.Module) -> tuple[ast.AST, ...]:
    """Return all nodes of a module, breadth first; kept for a module that many look through and nobody changes."""
    return tuple(ast.walk(tree))


def find_module_nodes(tree: ast.Module, kind: type[Node]) -> Iterator[Node]:
    """Yield the nodes of one kind in a module that nobody changes, breadth first."""
    for node in list_module_nodes(tree):
        if isinstance(node, kind):
            yield node


def uses_name(tree: ast.AST, name: str) -> bool:
    """Return True if the name stands anywhere in a tree."""
    return any(node.id == name for node in find_nodes(tree, ast.Name))


def get_last_name(node: ast.AST) -> str:
    """Return the last part of what is called or named: `raises` of `pytest.raises(…)`; empty for anything else."""
    if isinstance(node, ast.Call):
        return get_last_name(node.func)
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Name):
        return node.id
    return ""


def list_elements(value: ast.expr) -> list[ast.expr]:
    """Return what a list or tuple holds; any other expression alone."""
    return value.elts if isinstance(value, ast.List | ast.Tuple) else [value]
