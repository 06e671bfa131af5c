"""Imports of Python files among each other."""

import ast
import contextlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set
from typing import NamedTuple

from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.judge.source.python_syntax import parse_source

_TOKEN = compile_lazily(
    r"""
    \"{3}(?:[^"\\]|\\.|"(?!""))*\"{3} | '{3}(?:[^'\\]|\\.|'(?!''))*'{3}     # no import stands in a string
    | "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*'
    | \#[^\n]*
    | (?:^|(?<=[:;]))[ \t]*(?P<statement>(?:from|import)\b(?:\\\r?\n|\([^)]*\)|[^\n(;#\\])*)
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_SOURCE_ROOTS = frozenset({"src", "lib", "python"})
_PACKAGE = "__init__"
_NOTHING: frozenset[str] = frozenset()
_ModuleName = tuple[str, ...]


class ModuleIndex:
    """The modules that files can be imported as.

    A module's name begins below the repository's root, below a directory such as `src`, or where the packages that
    hold it end. A name may be that of several files: all of them count.
    """

    def __init__(self, paths: Sequence[str]) -> None:
        self._files: dict[_ModuleName, set[str]] = defaultdict(set)
        self._package_files: dict[_ModuleName, set[str]] = defaultdict(set)
        self._packages = {path.rpartition("/")[0] for path in filter(_is_package, paths)}
        starts_by_folder: dict[str, tuple[int, ...]] = {}
        for path in paths:
            folder, _, file_name = path.rpartition("/")
            if folder not in starts_by_folder:
                starts_by_folder[folder] = tuple(self._find_starts(split_folder(folder)))
            stem = file_name.rpartition(".")[0] or file_name
            is_package = stem == _PACKAGE
            parts = split_folder(folder) if is_package else (*split_folder(folder), stem)
            for start in starts_by_folder[folder]:
                if start < len(parts) or not parts:
                    self._files[parts[start:]].add(path)
                    if is_package:
                        self._package_files[parts[start:]].add(path)

    def _find_starts(self, folders: tuple[str, ...]) -> set[int]:
        """Return how many of the folders do not belong to the names of the modules in them."""
        starts = {0}
        for depth, name in enumerate(folders, start=1):
            if name in _SOURCE_ROOTS:
                starts.add(depth)
        outermost = len(folders)
        while outermost and "/".join(folders[:outermost]) in self._packages:
            outermost -= 1
        starts.add(outermost)
        return starts

    def find_files(self, name: _ModuleName) -> Set[str]:
        """Return the files that a whole name stands for."""
        return self._files.get(name, _NOTHING) if name else _NOTHING

    def find_package_files(self, name: _ModuleName) -> Set[str]:
        """Return those of these files that are packages."""
        return self._package_files.get(name, _NOTHING) if name else _NOTHING


def split_folder(folder: str) -> tuple[str, ...]:
    """Return the names of a folder and of those that hold it, outermost first; nothing for the root."""
    return tuple(folder.split("/")) if folder else ()


class ImportStatement(NamedTuple):
    """The imports of one statement: the number of leading dots, the module's name, and the names taken from it."""

    level: int
    name: tuple[str, ...]
    members: tuple[str, ...]


def parse_python_imports(path: str, content: bytes, modules: ModuleIndex) -> tuple[set[str], set[str]]:
    """Return the files that a file imports, and the package files that importing these runs beside them."""
    return resolve_python_imports(path, list_import_statements(content), modules)


def list_import_statements(content: bytes) -> tuple[ImportStatement, ...]:
    """Return every import of a source, at any depth."""
    return tuple(_iterate_imports(content))


def resolve_python_imports(
    path: str, statements: Iterable[ImportStatement], modules: ModuleIndex
) -> tuple[set[str], set[str]]:
    """Return the files that the statements of a file import, and the package files that these run beside them."""
    found: set[str] = set()
    through: set[str] = set()
    folders = split_folder(path.rpartition("/")[0])
    for level, name, members in statements:
        if level > len(folders) + 1:
            continue
        before = folders[: len(folders) - level + 1] if level else ()
        module, is_whole = before + name, True
        for member in members:
            files = modules.find_files((*module, member))
            found |= files
            is_whole = is_whole and bool(files)
        if not is_whole or not members:
            found |= modules.find_files(module)
        for end in range(len(before) + 1, len(module) + 1):
            through |= modules.find_package_files(module[:end])
    return found, through


def _is_package(path: str) -> bool:
    return path.rpartition("/")[2].rpartition(".")[0] == _PACKAGE


def _iterate_imports(content: bytes) -> Iterator[ImportStatement]:
    for node in _list_statements(content.decode("utf-8", "replace")):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield ImportStatement(0, tuple(alias.name.split(".")), ())
        elif isinstance(node, ast.ImportFrom):
            name = tuple(node.module.split(".")) if node.module else ()
            yield ImportStatement(node.level, name, tuple(alias.name for alias in node.names))


def _list_statements(text: str) -> Iterator[ast.stmt]:
    """Yield the import statements at any depth. To parse whole files would take many times as long."""
    for match in _TOKEN.finditer(text):
        if match["statement"]:
            with contextlib.suppress(SyntaxError, ValueError):
                yield from parse_source(match["statement"]).body
