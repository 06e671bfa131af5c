"""The search for functions outside of the workspace that code of the workspace has replaced.

It is never used here: its text goes into the sandbox, before that of `pytest_plugin`.
"""

from __future__ import annotations

import functools
import os
import sys
import types
from collections.abc import Mapping
from typing import Any

_SITES = ("/site-packages/", "/dist-packages/", "/node_modules/")
_DEPTH = 6
_MAX_FOUND = 200
_CALLABLES = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.ClassMethodDescriptorType,
    staticmethod,
    classmethod,
    property,
    functools.partial,
    type(functools.lru_cache(lambda: None)),
)
_TEST_FOLDERS = {"test", "tests", "testing"}
_MISSING = object()


class CandidateFiles:
    """The directory in which candidate code lies, without packages that are installed below it."""

    def __init__(self, root: str) -> None:
        self.root = root
        self._known: dict[str, str] = {}
        self._prefixes = tuple(
            prefix + os.sep for prefix in {sys.prefix, sys.base_prefix} if not root.startswith(prefix + os.sep)
        )

    def find_path(self, file: object) -> str:
        """Return the path of a file relative to the root; empty if it is none of the workspace's own."""
        if not isinstance(file, str) or not file or file[0] == "<":
            return ""
        if file not in self._known:
            self._known[file] = self._resolve(file)
        return self._known[file]

    def _resolve(self, file: str) -> str:
        whole = os.path.realpath(os.path.join(self.root, file))  # noqa: PTH118
        if not whole.startswith(self.root + os.sep) or any(site in whole for site in _SITES):
            return ""
        if whole.startswith(self._prefixes):
            return ""
        return whole[len(self.root) + 1 :]

    def find_module_path(self, name: object) -> str:
        """Return the path of a module of the workspace by its dotted name; empty if it is none."""
        module = sys.modules.get(name) if isinstance(name, str) else None
        return self.find_path(getattr(module, "__file__", None))


def is_test_file(path: str) -> bool:
    """Return True if a path looks like that of tests, whose patches count only where they are left."""
    folders, _, name = path.rpartition("/")
    is_named = name == "conftest.py" or name.startswith("test_") or name.endswith("_test.py")
    return is_named or not _TEST_FOLDERS.isdisjoint(folders.split("/"))


class OriginFinder:
    """Finds the code behind a value: in the workspace, in a text that was executed, or elsewhere."""

    def __init__(self, workspace: CandidateFiles) -> None:
        self._workspace = workspace

    def find_origin(self, value: object, depth: int = _DEPTH) -> tuple[str, int] | None:
        """Return path and line of code of the workspace behind a value; an empty path for code without a file.

        None if all of it lies elsewhere.
        """
        if depth == 0 or value is None:
            return None
        if isinstance(value, types.FunctionType):
            return self._find_in_function(value, depth)
        if isinstance(value, type):
            return self._find_in_class(value)
        if isinstance(value, types.ModuleType):
            path = self._workspace.find_path(getattr(value, "__file__", None))
            return (path, 1) if path else None
        for part in _list_parts(value):
            origin = self.find_origin(part, depth - 1)
            if origin is not None:
                return origin
        if isinstance(value, (types.BuiltinFunctionType, *_CALLABLES)):
            return None
        return self._find_in_class(type(value))

    def _find_in_function(self, function: types.FunctionType, depth: int) -> tuple[str, int] | None:
        code = function.__code__
        path = self._workspace.find_path(code.co_filename)
        if path:
            return path, code.co_firstlineno
        names = function.__globals__
        if code.co_filename[:1] == "<" and not code.co_filename.startswith("<frozen"):
            path = self._workspace.find_path(names.get("__file__"))
            if path or "__file__" not in names or names.get("__loader__") is None:
                return path, code.co_firstlineno
        cells = []
        for cell in function.__closure__ or ():
            try:
                cells.append(cell.cell_contents)
            except ValueError:
                continue
        for held in (getattr(function, "__wrapped__", None), *cells):
            if callable(held):
                origin = self.find_origin(held, depth - 1)
                if origin is not None:
                    return origin
        return None

    def _find_in_class(self, cls: type) -> tuple[str, int] | None:
        path = self._workspace.find_module_path(cls.__module__)
        if path:
            return path, 1
        for value in list(vars(cls).values()):
            if isinstance(value, types.FunctionType):
                path = self._workspace.find_path(value.__code__.co_filename)
                if path:
                    return path, value.__code__.co_firstlineno
        return None


def _list_parts(value: object) -> list[object]:
    """Return the values that a callable is made of."""
    if isinstance(value, (staticmethod, classmethod)):
        return [value.__func__]
    if isinstance(value, property):
        return [value.fget, value.fset]
    if isinstance(value, functools.partial):
        return [value.func, *value.args]
    if isinstance(value, types.MethodType):
        return [value.__func__, value.__self__]
    if isinstance(value, types.BuiltinFunctionType):
        return []
    try:
        held = vars(value)
    except TypeError:
        return []
    return [held.get(name) for name in ("__wrapped__", "_mock_side_effect", "_mock_wraps", "side_effect")]


class FunctionWatch:
    """Remembers the functions of modules outside of the workspace, and finds those that are others now."""

    def __init__(self, workspace: CandidateFiles, skipped: str) -> None:
        """Watch from now on; the module `skipped` is ours."""
        self._workspace = workspace
        self._finder = OriginFinder(workspace)
        self._skipped = skipped
        self._known: set[str] = set()
        self._entries: list[tuple[Any, str, object, str]] = []
        self._codes: list[tuple[types.FunctionType, object, str]] = []
        self._classes: set[int] = set()
        self.found: dict[str, tuple[str, str, int]] = {}
        self.add_modules()

    def add_modules(self) -> None:
        """Watch modules that have been loaded meanwhile, too."""
        is_first = not self._known
        loaded: dict[str, object] = dict(sys.modules)
        for name, module in loaded.items():
            if name in self._known or name in (self._skipped, "__main__", "__mp_main__"):
                continue
            self._known.add(name)
            if not isinstance(module, types.ModuleType):
                continue
            if self._workspace.find_path(getattr(module, "__file__", None)):
                continue
            self._entries.append((sys.modules, name, module, ""))
            self._add_names(vars(module), name, name, is_first)

    def _add_names(self, names: Mapping[str, object], owner: str, module: str, is_first: bool) -> None:
        for key, value in list(names.items()):
            is_class = isinstance(value, type)
            if not is_class and type(value) not in _CALLABLES:
                continue
            self._entries.append((names, key, value, owner))
            if type(value) is types.FunctionType and value.__module__ == module:
                self._codes.append((value, value.__code__, f"{owner}.{key}"))
            if is_class and value.__module__ == module and id(value) not in self._classes:
                self._classes.add(id(value))
                self._add_names(vars(value), f"{owner}.{key}", module, is_first)
            if not is_first and type(value) is types.FunctionType and value.__module__ != module:
                self._add_late(f"{owner}.{key}", value)

    def _add_late(self, name: str, value: types.FunctionType) -> None:
        """Note a function of the workspace in a module that was loaded after it may have been replaced."""
        path = self._workspace.find_path(value.__code__.co_filename)
        if path and _is_named_in_source(name):
            self._note(name, path, value.__code__.co_firstlineno)

    def check_functions(self, is_last: bool) -> None:
        """Compare everything; a patch of a test's own file counts only where it is there at the last."""
        for number in self._list_changed():
            names, key, _, owner = self._entries[number]
            now = names.get(key, _MISSING)
            if now is _MISSING or (names is sys.modules and not isinstance(now, types.ModuleType)):
                continue
            name = f"{owner}.{key}" if owner else key
            origin = self._finder.find_origin(now)
            if origin is None and (is_last and names is not sys.modules):
                self.found.setdefault(name, (name, "", 0))
            if origin is not None and (is_last or not is_test_file(origin[0])):
                self._note(name, *origin)
        for function, code, name in self._codes:
            if function.__code__ is not code:
                path = self._workspace.find_path(function.__code__.co_filename)
                if is_last or not is_test_file(path):
                    self._note(name, path, function.__code__.co_firstlineno)

    def _list_changed(self) -> list[int]:
        return [
            number
            for number, (names, key, value, _) in enumerate(self._entries)
            if names.get(key, _MISSING) is not value
        ]

    def _note(self, name: str, path: str, line: int) -> None:
        if len(self.found) < _MAX_FOUND:
            self.found[name] = (name, path, line)

    def list_modules(self) -> tuple[dict[str, str], list[str]]:
        """Return the modules of the workspace with their paths, and the top-level names of all others."""
        own: dict[str, str] = {}
        others: set[str] = set()
        for name, module in list(sys.modules.items()):
            path = self._workspace.find_path(getattr(module, "__file__", None))
            if path:
                own[name] = path
            elif name != self._skipped:
                others.add(name.partition(".")[0])
        return own, sorted(others)


def _is_named_in_source(name: str) -> bool:
    """Return True if the source of the module that holds a dotted name mentions its last part."""
    parts = name.split(".")
    for end in range(len(parts) - 1, 0, -1):
        module = sys.modules.get(".".join(parts[:end]))
        file = getattr(module, "__file__", None)
        if file and file.endswith(".py"):
            try:
                with open(file, "rb") as source:  # noqa: PTH123
                    return parts[-1].encode() in source.read()
            except OSError:
                return False
    return False
