"""Imports of Python files among each other."""

import ast
import contextlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import PurePosixPath
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


class ModuleIndex:
    """The modules that files can be imported as.

    A module's name begins below the repository's root, below a directory such as `src`, or where the packages that
    hold it end. A name may be that of several files: all of them count.
    """

    def __init__(self, paths: Sequence[str]) -> None:
        self._files: dict[tuple[str, ...], set[str]] = defaultdict(set)
        self._packages = {str(PurePosixPath(path).parent) for path in filter(_is_package, paths)}
        for path in paths:
            parts = _split_module_name(path)
            for start in self._starts(path, parts):
                self._files[parts[start:]].add(path)

    def _starts(self, path: str, parts: tuple[str, ...]) -> set[int]:
        folders = PurePosixPath(path).parent.parts
        starts = {0}
        for depth, name in enumerate(folders, start=1):
            if name in _SOURCE_ROOTS:
                starts.add(depth)
        outermost = len(folders)
        while outermost and "/".join(folders[:outermost]) in self._packages:
            outermost -= 1
        starts.add(outermost)
        return {start for start in starts if start < len(parts) or not parts}

    def find_files(self, path: str, level: int, name: tuple[str, ...]) -> set[str]:
        """Return the files that a name stands for in the file `path`.

        `level` is the number of dots before a relative one.
        """
        if level:
            folder = PurePosixPath(path).parent.parts
            if level - 1 > len(folder):
                return set()
            name = (*folder[: len(folder) - level + 1], *name)
        return self._files.get(name, set()) if name else set()


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
    for level, name, members in statements:
        look = partial(modules.find_files, path, level)
        modules_found = [look((*name, member)) for member in members]
        found = found.union(*modules_found)
        if not all(modules_found) or not members:
            found |= look(name)
        for end in range(1, len(name) + 1):
            through |= set(filter(_is_package, look(name[:end])))
    return found, through


def _is_package(path: str) -> bool:
    return PurePosixPath(path).stem == "__init__"


def _split_module_name(path: str) -> tuple[str, ...]:
    place = PurePosixPath(path)
    if place.stem == "__init__":
        return place.parent.parts
    return (*place.parent.parts, place.stem)


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
