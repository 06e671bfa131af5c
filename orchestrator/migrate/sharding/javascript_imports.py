"""Imports of JavaScript and TypeScript files among each other, by relative paths."""

import re
from collections.abc import Container, Iterator
from pathlib import PurePosixPath
from posixpath import normpath

from orchestrator.domain.text.lazy_pattern import compile_lazily

SCRIPT_SUFFIXES = frozenset({".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".vue", ".svelte"})
_ADDED = (".ts", ".tsx", ".d.ts", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".json", ".vue", ".svelte")
_COMPILED = {".js": (".ts", ".tsx", ".d.ts"), ".jsx": (".tsx",), ".mjs": (".mts",), ".cjs": (".cts",)}
_TOKEN = compile_lazily(
    r"""
    //[^\n]* | /\*.*?\*/                                         # comments hold no imports
    | (?: \bfrom | \bimport | \b(?:require|import)\s*\( ) \s*
      (?P<quote>['"`]) (?P<path>\.{1,2}(?:/[^'"`\n$]*)?) (?P=quote)
    | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*'                  # nor do other strings
    """,
    re.VERBOSE | re.DOTALL,
)


def parse_script_imports(path: str, content: bytes, known: Container[str]) -> set[str]:
    """Return those of the known files that a file imports or requires."""
    folder = PurePosixPath(path).parent
    found = set()
    for match in _TOKEN.finditer(content.decode("utf-8", "replace")):
        if match["path"]:
            candidates = _list_candidates(normpath(str(folder / match["path"])))
            found.add(next(filter(known.__contains__, candidates), ""))
    return found - {""}


def _list_candidates(place: str) -> Iterator[str]:
    """Yield the paths that a name may mean, in the order in which bundlers look."""
    suffix = PurePosixPath(place).suffix
    yield place
    for other in _COMPILED.get(suffix, ()):
        yield place.removesuffix(suffix) + other
    for suffix in _ADDED:
        yield place + suffix
    for suffix in _ADDED:
        yield f"{place}/index{suffix}".removeprefix("./")
