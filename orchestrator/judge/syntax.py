"""Python source as a syntax tree, without running anything of it."""

import ast
import threading
import warnings

_ONE_AT_A_TIME = threading.Lock()
"""CPython 3.11 counts the recursion of `ast` for all threads together (python/cpython#106905)."""


def parse(source: bytes) -> ast.Module | None:
    """The tree; None if nobody can read it as Python. Blocks."""
    try:
        with _ONE_AT_A_TIME, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
