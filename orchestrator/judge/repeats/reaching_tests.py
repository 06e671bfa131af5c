"""Choosing the tests that reach changed code, inside a run of pytest.

It is never imported here: its text goes into the sandbox behind that of a plugin. A test reaches changed code if its
module names something of a changed module, directly or through other modules of the workspace. Where none does, such
as when tests start programs, all tests are chosen.
"""

import sys
from pathlib import Path
from types import ModuleType

import pytest


def choose_items(items: list[pytest.Item], paths: tuple[str, ...]) -> list[pytest.Item]:
    """Return the tests whose modules reach one of the files, or all."""
    reaching = find_reaching_modules(paths)
    chosen = []
    for item in items:
        module = getattr(item, "module", None)
        if module is not None and module.__name__ in reaching:
            chosen.append(item)
    return chosen or list(items)


def find_reaching_modules(paths: tuple[str, ...]) -> set[str]:
    """Return the names of loaded modules that are these files, or name something of one that reaches them."""
    changed = {str(Path(path).resolve()) for path in paths}
    top, own, reaching = str(Path.cwd()), dict[str, ModuleType](), set[str]()
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and file.startswith(top):
            own[name] = module
            if str(Path(file).resolve()) in changed:
                reaching.add(name)
    is_growing = bool(reaching)
    while is_growing:
        found = {name for name, module in own.items() if name not in reaching and names_any(module, reaching)}
        reaching |= found
        is_growing = bool(found)
    return reaching


def names_any(module: ModuleType, names: set[str]) -> bool:
    """Return True if a value of the module is one of these modules, or was defined in one."""
    for value in list(vars(module).values()):
        owners: list[object] = [getattr(type(value), "__module__", None), getattr(value, "__module__", None)]
        if isinstance(value, ModuleType):
            owners = [value.__name__]
        if any(isinstance(owner, str) and owner in names for owner in owners):
            return True
    return False
