"""Modules that a package ships for the tests of others, and that its own code does not import."""

import ast
from collections.abc import Iterable
from pathlib import PurePosixPath

from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.judge.files.changed_file import ChangedFile, is_test_path
from orchestrator.judge.source.python_syntax import find_nodes, parse_python

_SUPPORT = compile_lazily(r"_?testing|pytest_plugin|test_?(?:utils?|helpers?|support)")


def is_shipped_test_support(file: ChangedFile, files: Iterable[ChangedFile]) -> bool:
    """Return True if a module is named as test support is, and nothing else of the product in `files` imports it."""
    place = PurePosixPath(file.path)
    parts = (*place.parent.parts, place.stem)
    names = {part for part in parts if _SUPPORT.fullmatch(part)}
    if not names:
        return False
    for other in files:
        if other.path == file.path or not other.is_python or is_test_path(other.path):
            continue
        if not names.isdisjoint(_list_imported_parts(other)) and names.isdisjoint(PurePosixPath(other.path).parts):
            return False
    return True


def _list_imported_parts(file: ChangedFile) -> set[str]:
    """Return every part of the dotted names that a file imports."""
    parts = set[str]()
    tree = parse_python(file.after or b"")
    if tree is None:
        return parts
    for statement in find_nodes(tree, ast.ImportFrom):
        parts.update((statement.module or "").split("."))
    for alias in find_nodes(tree, ast.alias):
        parts.update(alias.name.split("."))
    return parts
