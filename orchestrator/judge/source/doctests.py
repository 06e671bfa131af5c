"""Examples of doctest in a file: of each docstring of a Python source, or of a text as a whole."""

import ast
import doctest
from collections.abc import Iterator
from typing import NamedTuple

from orchestrator.judge.source.python_syntax import FunctionNode, parse_python

_PARSER = doctest.DocTestParser()


class DoctestExample(NamedTuple):
    """An example: what is run and what it has to print; `owner` is dotted, and empty for a module or a text."""

    owner: str
    source: str
    want: str
    options: tuple[tuple[int, bool], ...]


def list_doctest_examples(content: bytes, *, is_python: bool) -> list[DoctestExample]:
    """Return the examples of a file in their order; none of what cannot be read. Blocks."""
    if not is_python:
        return list(_parse_examples("", content.decode("utf-8", "replace")))
    tree = parse_python(content)
    if tree is None:
        return []
    examples: list[DoctestExample] = []
    for owner, node in _iterate_documented(tree, ""):
        examples += _parse_examples(owner, ast.get_docstring(node, clean=True) or "")
    return examples


def _iterate_documented(
    node: ast.Module | ast.ClassDef | FunctionNode, owner: str
) -> Iterator[tuple[str, ast.Module | ast.ClassDef | FunctionNode]]:
    yield owner, node
    for inner in node.body:
        if isinstance(inner, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _iterate_documented(inner, f"{owner}.{inner.name}".lstrip("."))


def _parse_examples(owner: str, text: str) -> Iterator[DoctestExample]:
    try:
        found = _PARSER.get_examples(text)
    except ValueError:  # an example that doctest itself could not read: the whole text is one
        yield DoctestExample(owner, text, "", ())
        return
    for one in found:
        yield DoctestExample(owner, one.source, one.want, tuple(sorted(one.options.items())))
