"""What a Python file imports of the files around it."""

import ast
import contextlib
import re
import threading
import warnings
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import PurePosixPath

_TOKEN = re.compile(
    r"""
    \"{3}(?:[^"\\]|\\.|"(?!""))*\"{3} | '{3}(?:[^'\\]|\\.|'(?!''))*'{3}     # no import stands in a string
    | "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*'
    | \#[^\n]*
    | (?:^|(?<=[:;]))[ \t]*(?P<statement>(?:from|import)\b(?:\\\r?\n|\([^)]*\)|[^\n(;#\\])*)
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_SOURCE_ROOTS = frozenset({"src", "lib", "python"})
_ONE_AT_A_TIME = threading.Lock()
"""CPython 3.11 counts the recursion of `ast` for all threads together (python/cpython#106905)."""


class ModuleIndex:
    """The modules that files can be imported as.

    A module's name begins below the repository's root, below a directory such as `src`, or where the packages that
    hold it end. A name may be that of several files: all of them count.
    """

    def __init__(self, paths: Sequence[str]) -> None:
        self._files: dict[tuple[str, ...], set[str]] = defaultdict(set)
        self._packages = {str(PurePosixPath(path).parent) for path in paths if PurePosixPath(path).stem == "__init__"}
        self._names: dict[str, tuple[str, ...]] = {}
        for path in paths:
            parts = _dotted(path)
            for start in self._starts(path, parts):
                self._files[parts[start:]].add(path)

    def _starts(self, path: str, parts: tuple[str, ...]) -> set[int]:
        folders = PurePosixPath(path).parent.parts
        starts = {0, *(at + 1 for at, name in enumerate(folders) if name in _SOURCE_ROOTS)}
        outermost = len(folders)
        while outermost and "/".join(folders[:outermost]) in self._packages:
            outermost -= 1
        return {start for start in {*starts, outermost} if start < len(parts) or not parts}

    def find_files(self, path: str, level: int, name: tuple[str, ...]) -> set[str]:
        """The files that a name stands for in the file `path`; `level` is the number of dots before a relative one."""
        if level:
            folder = PurePosixPath(path).parent.parts
            if level - 1 > len(folder):
                return set()
            name = (*folder[: len(folder) - level + 1], *name)
        if name:
            return self._files.get(name, set())
        return set()


def parse_python_imports(path: str, content: bytes, modules: ModuleIndex) -> tuple[set[str], set[str]]:
    """The files that a file imports, and the package files that importing these runs beside them."""
    found: set[str] = set()
    through: set[str] = set()
    for level, name, members in _imported(content):
        look = partial(modules.find_files, path, level)
        deepest = [files for member in members if (files := look((*name, member)))]
        if len(deepest) < len(members) or not members:
            deepest.append(look(name))
        found |= {file for files in deepest for file in files}
        through |= {file for end in range(1, len(name) + 1) for file in look(name[:end]) if _is_package(file)}
    return found, through


def _is_package(path: str) -> bool:
    return PurePosixPath(path).stem == "__init__"


def _dotted(path: str) -> tuple[str, ...]:
    place = PurePosixPath(path)
    if place.stem == "__init__":
        return place.parent.parts
    return (*place.parent.parts, place.stem)


def _imported(content: bytes) -> Iterator[tuple[int, tuple[str, ...], list[str]]]:
    """Every import: how many dots, the module's name, and the names taken from it."""
    for node in _statements(content.decode("utf-8", "replace")):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield 0, tuple(alias.name.split(".")), []
        elif isinstance(node, ast.ImportFrom):
            name = tuple(node.module.split(".")) if node.module else ()
            yield node.level, name, [alias.name for alias in node.names]


def _statements(text: str) -> Iterator[ast.stmt]:
    """The import statements at any depth. To parse whole files would take many times as long."""
    for match in _TOKEN.finditer(text):
        if match["statement"]:
            with contextlib.suppress(SyntaxError, ValueError):
                yield from _parsed(match["statement"])


def _parsed(statement: str) -> list[ast.stmt]:
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(statement).body
