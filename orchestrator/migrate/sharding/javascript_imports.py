"""What a JavaScript or TypeScript file imports of the files around it, by relative paths."""

import re
from collections.abc import Container, Iterator
from pathlib import PurePosixPath
from posixpath import normpath

SCRIPT_SUFFIXES = frozenset({".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".vue", ".svelte"})
_ADDED = (".ts", ".tsx", ".d.ts", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".json", ".vue", ".svelte")
_COMPILED = {".js": (".ts", ".tsx", ".d.ts"), ".jsx": (".tsx",), ".mjs": (".mts",), ".cjs": (".cts",)}
_TOKEN = re.compile(
    r"""
    //[^\n]* | /\*.*?\*/                                         # comments hold no imports
    | (?: \bfrom | \bimport | \b(?:require|import)\s*\( ) \s*
      (?P<quote>['"`]) (?P<path>\.{1,2}(?:/[^'"`\n$]*)?) (?P=quote)
    | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*'                  # nor do other strings
    """,
    re.VERBOSE | re.DOTALL,
)


def parse_script_imports(path: str, content: bytes, known: Container[str]) -> set[str]:
    """Those of the known files that a file imports or requires."""
    folder = PurePosixPath(path).parent
    found = set()
    for wanted in _wanted(content.decode("utf-8", "replace")):
        place = normpath(str(folder / wanted))
        target = next((one for one in _candidates(place) if one in known), None)
        if target:
            found.add(target)
    return found


def _wanted(text: str) -> Iterator[str]:
    return (match["path"] for match in _TOKEN.finditer(text) if match["path"])


def _candidates(place: str) -> Iterator[str]:
    """What a name may mean, in the order in which bundlers look."""
    suffix = PurePosixPath(place).suffix
    yield place
    for other in _COMPILED.get(suffix, ()):
        yield place.removesuffix(suffix) + other
    yield from (place + suffix for suffix in _ADDED)
    yield from (("" if place == "." else f"{place}/") + "index" + suffix for suffix in _ADDED)
