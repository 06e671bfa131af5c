"""Tests that classes inherit: one function runs under a name for each class that has it from another one."""

import ast
from collections.abc import Iterator, Sequence

from orchestrator.judge.source.python_syntax import find_nodes, get_last_name

Key = tuple[str, str]
"""A file, and the name of a function or a class in it."""


def list_heirs(test: Key, modules: Sequence[tuple[str, ast.Module]]) -> list[Key]:
    """Return a method's places in the classes of these files that inherit it, as `TestTuples.test_total`.

    A class that a file imports stands there as well: runners collect it once more.
    """
    path, name = test
    owner, _, method = name.rpartition(".")
    if not is_test_method(name):
        return []
    owners: dict[Key, None] = {(path, owner): None}
    is_growing = True
    while is_growing:
        count = len(owners)
        for file, module in modules:
            owners.update(dict.fromkeys(_iterate_owners(file, module, method, list(owners))))
        is_growing = len(owners) > count
    del owners[path, owner]
    return [(file, f"{heir}.{method}") for file, heir in owners]


def is_test_method(name: str) -> bool:
    """Return True if a function with this name, its classes before it, is a test by its name, in one class."""
    owner, _, method = name.rpartition(".")
    return bool(owner) and "." not in owner and method.startswith("test")


def _iterate_owners(file: str, module: ast.Module, method: str, owners: Sequence[Key]) -> Iterator[Key]:
    """Yield the classes of a file that have the method from one of these: its own, and those that it imports."""
    names = {owner for path, owner in owners if path == file}
    own = {statement.name for statement in module.body if isinstance(statement, ast.ClassDef)}
    known = {owner for _, owner in owners} - own
    for source in find_nodes(module, ast.ImportFrom):
        for alias in source.names:
            if alias.name in known:
                names.add(alias.asname or alias.name)
                yield file, alias.asname or alias.name
    for statement in module.body:
        if not isinstance(statement, ast.ClassDef) or _defines(statement, method):
            continue
        if not names.isdisjoint(map(get_last_name, statement.bases)):
            names.add(statement.name)
            yield file, statement.name


def _defines(owner: ast.ClassDef, method: str) -> bool:
    for statement in owner.body:
        match statement:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if name == method:
                return True
            case ast.Assign(targets=targets) if method in map(get_last_name, targets):
                return True
    return False
