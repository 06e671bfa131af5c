"""The inside of a run that repeats tests: a plugin of pytest that runs those which reach changed code in many rounds.

It is never imported here: its text goes into the sandbox, where the project's own pytest loads it. A test reaches
changed code if its module names something of a changed module, directly or through other modules of the workspace.
Where none does, such as when tests start programs, all tests are repeated as far as the time goes.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

CHANGED: tuple[str, ...] = ()
ROUNDS = 0
SECONDS = 0.0
"""What is put after this text gives their values: the changed files, and the limits of the repetition."""


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run the chosen tests round by round, until the rounds or the seconds are used up."""
    if session.config.option.collectonly or hasattr(session.config, "workerinput"):
        return None
    if getattr(session.config.option, "numprocesses", None):
        return True  # xdist hands out each test once
    items = choose_items(session.items)
    deadline = time.monotonic() + SECONDS
    for _ in range(ROUNDS):
        for number, item in enumerate(items):
            if time.monotonic() > deadline:
                session._setupstate.teardown_exact(None)
                return True
            following = items[number + 1] if number + 1 < len(items) else None
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
    return True


def choose_items(items: list[pytest.Item]) -> list[pytest.Item]:
    """Return the tests whose modules reach a changed one, or all."""
    reaching = find_reaching_modules()
    chosen = []
    for item in items:
        module = getattr(item, "module", None)
        if module is not None and module.__name__ in reaching:
            chosen.append(item)
    return chosen or list(items)


def find_reaching_modules() -> set[str]:
    """Return the names of loaded modules that are changed, or name something of one that reaches a change."""
    changed = {str(Path(path).resolve()) for path in CHANGED}
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
