"""Tests that classes inherit: one function runs under a name for each class that has it from another one."""

import ast

from orchestrator.judge.source.python_syntax import get_last_name


def list_inherited_names(name: str, module: ast.Module) -> tuple[str, ...]:
    """Return a method's names in the classes of its module that inherit it: `TestTuples.test_total`."""
    owner, _, method = name.rpartition(".")
    if not is_test_method(name):
        return ()
    owners, found = {owner}, []
    for statement in module.body:
        if isinstance(statement, ast.ClassDef) and not _defines(statement, method):
            bases = set(map(get_last_name, statement.bases))
            if not bases.isdisjoint(owners):
                owners.add(statement.name)
                found.append(f"{statement.name}.{method}")
    return tuple(found)


def is_test_method(name: str) -> bool:
    """Return True if a function with this name, its classes before it, is a test by its name, in one class."""
    owner, _, method = name.rpartition(".")
    return bool(owner) and "." not in owner and method.startswith("test")


def _defines(owner: ast.ClassDef, method: str) -> bool:
    for statement in owner.body:
        match statement:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if name == method:
                return True
            case ast.Assign(targets=targets) if method in map(get_last_name, targets):
                return True
    return False
