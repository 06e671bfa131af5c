"""Makes recorded calls again, and writes how each ended. Used as a script of its own, or by a test among others.

Only the text of this module is used, in the sandbox; it loads nothing but what Python brings, and what it calls.
"""

from __future__ import annotations

import base64
import importlib
import json
import os
import pickle
import signal
import sys
import types
from typing import Any

from orchestrator.judge.behaviour.value_shapes import describe_value

_CALL_S = 5.0


class _CallTooLong(BaseException):
    """A call went on for longer than anybody waits."""


def _stop_call(*_: object) -> None:
    raise _CallTooLong


def replay_calls(calls: list[list[Any]], target: str, root: str) -> None:
    """Make calls (path, module, name, arguments) one after the other; write a line for each that could be made."""
    for folder in {_find_import_folder(root, path, module) for path, module, _, _ in calls}:
        sys.path.insert(0, folder)
    for module in dict.fromkeys(module for _, module, _, _ in calls):
        _import_module(module)
    signal.signal(signal.SIGALRM, _stop_call)
    with open(target, "a", encoding="utf-8") as file:  # noqa: PTH123
        for number, (path, module, name, data) in enumerate(calls):
            result = _replay_call(os.path.join(root, path), module, name, data)  # noqa: PTH118
            if result is not None:
                file.write(json.dumps([number, *result]) + "\n")
                file.flush()


def _import_module(name: str) -> None:
    """Import a module while nobody waits for a call; what goes wrong here is seen again by the first call."""
    try:
        importlib.import_module(name)
    except BaseException:  # noqa: BLE001 -- a module may do anything when it is imported
        return


def _find_import_folder(root: str, path: str, module: str) -> str:
    """Return the directory from which a module of this name is imported, by its path in the workspace."""
    place = os.path.join(root, path)  # noqa: PTH118
    levels = module.count(".") + 1 + (os.path.basename(path) == "__init__.py")  # noqa: PTH119
    for _ in range(levels):
        place = os.path.dirname(place)  # noqa: PTH120
    return place


def _replay_call(file: str, module: str, name: str, data: str) -> tuple[str, str, str] | None:
    """Return how a call ended; None if it cannot be made, or tells too little."""
    signal.setitimer(signal.ITIMER_REAL, _CALL_S)
    try:
        function = _find_function(importlib.import_module(module), name, file)
        if function is None:
            return None
        arguments, named = pickle.loads(base64.b64decode(data))
        return _make_call(function, arguments, named)
    except BaseException:  # noqa: BLE001 -- one call that cannot be made says nothing of the others
        return None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _make_call(function: Any, arguments: Any, named: Any) -> tuple[str, str, str] | None:
    try:
        value = function(*arguments, **named)
    except Exception as error:  # noqa: BLE001 -- that is an answer as well
        kind = f"{type(error).__module__}.{type(error).__qualname__}"
        return "raised", kind, kind
    described = describe_value(value)
    return None if described is None else ("returned", *described)


def _find_function(module: types.ModuleType, name: str, file: str) -> types.FunctionType | None:
    """Return the function of this dotted name below what decorators made of it, if its code lies in the file."""
    found: Any = module
    for part in name.split("."):
        found = _look_up(found, part)
    for _ in range(20):
        if isinstance(found, types.FunctionType) and os.path.realpath(found.__code__.co_filename) == file:
            return found if found.__name__ == name.rpartition(".")[2] else None
        found = _unwrap(found)
    return None


def _look_up(owner: Any, name: str) -> Any:
    if isinstance(owner, type):
        for kind in owner.__mro__:
            if name in kind.__dict__:
                return kind.__dict__[name]
        return None
    return getattr(owner, name, None)


def _unwrap(found: Any) -> Any:
    for attribute in ("__wrapped__", "__func__", "fget", "func"):
        inner = getattr(found, attribute, None)
        if inner is not None:
            return inner
    return None
