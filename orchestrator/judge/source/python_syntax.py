"""Python source as a syntax tree, without running anything of it."""

import ast
import io
import threading
import tokenize
import warnings

_ONE_AT_A_TIME = threading.Lock()
"""CPython 3.11 counts the recursion of `ast` for all threads together (python/cpython#106905)."""


MAX_TREE_DEPTH = 150
"""How deep a tree may go that is still looked into: Python's own tools for trees call themselves for every level."""


def parse_python(source: bytes) -> ast.Module | None:
    """The tree; None if nobody can read it as Python, or it goes too deep. Blocks."""
    tree = _parse(source)
    if tree is None or _is_deep(tree):
        return None
    return tree


def is_too_deep(source: bytes) -> bool:
    """Whether it is Python, and goes too deep to be looked into. Blocks."""
    tree = _parse(source)
    return tree is not None and _is_deep(tree)


def _parse(source: bytes) -> ast.Module | None:
    try:
        with _ONE_AT_A_TIME, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (SyntaxError, ValueError, LookupError, RecursionError, MemoryError):
        return None


def _is_deep(tree: ast.AST) -> bool:
    level: list[ast.AST] = [tree]
    for _ in range(MAX_TREE_DEPTH):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return False
    return True


def tokenize_python(source: bytes) -> tuple[tokenize.TokenInfo, ...] | None:
    """Its tokens, comments among them; None if nobody can read it as Python. Blocks."""
    try:
        return tuple(tokenize.tokenize(io.BytesIO(source).readline))
    except (SyntaxError, ValueError, LookupError, RecursionError, tokenize.TokenError):
        return None  # a lookup fails for a coding that is none of text: `# coding: zlib`


def get_last_name(node: ast.AST) -> str:
    """The last part of what is called or named: `raises` of `pytest.raises(…)`; empty for anything else."""
    if isinstance(node, ast.Call):
        return get_last_name(node.func)
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Name):
        return node.id
    return ""
