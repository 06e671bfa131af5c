"""The code of a base as it may speak of other files: which of it imports a module, which of it names a file."""

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import NamedTuple

from orchestrator.judge.files.changed_file import is_test_path
from orchestrator.judge.source.python_syntax import parse_python

PYTHON_SUFFIXES = frozenset({".py", ".pyi"})
JAVASCRIPT_SUFFIXES = frozenset({".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx"})
CODE_SUFFIXES = (
    PYTHON_SUFFIXES
    | JAVASCRIPT_SUFFIXES
    | frozenset({".rb", ".go", ".rs", ".java", ".kt", ".scala", ".php", ".c", ".h", ".cc", ".cpp", ".hpp", ".cs"})
    | frozenset({".sh", ".bash", ".pl", ".lua", ".ex", ".exs", ".swift", ".vue", ".pyx"})
)
_RELATIVE = r"""["'](?:\.\.?/)(?:[\w./-]*/)?{}(?:\.\w+)?["']"""


class Mention(NamedTuple):
    """A place in the base that speaks of a file; `line` counts from 1."""

    path: str
    line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


class _Import(NamedTuple):
    """A name that a file imports: dotted as written, or, where it is relative, the path that it stands for."""

    name: str
    path: str
    line: int


@dataclass(frozen=True)
class BaseSources:
    """The files of a base: all `paths`, and the contents of those that are code or metadata.

    What is asked for is searched as text first, so only files that hold a word are ever parsed.
    """

    paths: Collection[str]
    sources: Mapping[str, bytes]
    _imports: dict[str, Sequence[_Import]] = field(default_factory=dict)

    def find_mentions(self, word: str, before: str = r"(?<![\w.-])", after: str = r"(?![\w-])") -> Iterator[Mention]:
        """Yield the first place in each file of code that has this word, with nothing around it that belongs to it."""
        raw = word.encode("utf-8", "surrogateescape")
        pattern = re.compile(before.encode() + re.escape(raw) + after.encode())
        yield from self._search(raw, pattern)

    def find_importers(self, path: str) -> Iterator[Mention]:
        """Yield the first place in each other file that imports a module of Python or JavaScript."""
        place = PurePosixPath(path)
        stem = place.parent.name if place.stem in {"__init__", "index"} else place.stem
        if place.suffix in JAVASCRIPT_SUFFIXES:
            pattern = re.compile(_RELATIVE.format(re.escape(stem)).encode())
            for mention in self._search(stem.encode(), pattern):
                if mention.path != path:
                    yield mention
            return
        bare = str(place.with_suffix("")).removesuffix("/__init__")
        for mention in self._search_imports(stem, self._list_module_names(place), bare):
            if mention.path != path:
                yield mention

    def find_importers_by_name(self, name: str) -> Iterator[Mention]:
        """Yield the first place in each file that imports a top-level module of Python by its name."""
        yield from self._search_imports(name, frozenset({name}), None)

    def is_package_of_product(self, folder: str) -> bool:
        """Return True if a directory holds code that is no test directly."""
        for path in self.sources:
            place = PurePosixPath(path)
            if str(place.parent) == folder and place.suffix in CODE_SUFFIXES and not is_test_path(path):
                return True
        return False

    def _search_imports(self, word: str, names: Collection[str], path: str | None) -> Iterator[Mention]:
        for importer, source in self.sources.items():
            if importer.endswith(".py") and word.encode() in source:
                for one in self._read_imports(importer):
                    if one.name in names or one.path == path:
                        yield Mention(importer, one.line)
                        break

    def _search(self, word: bytes, pattern: re.Pattern[bytes]) -> Iterator[Mention]:
        for path, source in self.sources.items():
            if word in source and PurePosixPath(path).suffix in CODE_SUFFIXES and (found := pattern.search(source)):
                yield Mention(path, source.count(b"\n", 0, found.start()) + 1)

    def _list_module_names(self, place: PurePosixPath) -> frozenset[str]:
        """Return the dotted names by which a module can be imported: from the top, or from a folder in no package."""
        parts = [*place.parent.parts]
        if place.stem != "__init__":
            parts.append(place.stem)
        names = set()
        for start in range(len(parts)):
            folder = "/".join(parts[:start])
            if not folder or f"{folder}/__init__.py" not in self.paths:
                names.add(".".join(parts[start:]))
        return frozenset(names)

    def _read_imports(self, path: str) -> Sequence[_Import]:
        if path not in self._imports:
            tree = parse_python(self.sources[path])
            self._imports[path] = tuple(_iterate_imports(tree, PurePosixPath(path))) if tree else ()
        return self._imports[path]


def is_named_like_settings(place: PurePosixPath) -> bool:
    """Return True for `vite.config.ts` and `.eslintrc.cjs`: code that is only there to configure a program."""
    return re.fullmatch(r"[\w-]+\.(?:config|conf|setup)|\.?\w+rc", place.stem) is not None


def _iterate_imports(tree: ast.Module, place: PurePosixPath) -> Iterator[_Import]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _name_with_parents(alias.name, node.lineno)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from _name_with_parents(node.module or "", node.lineno)
            for alias in node.names:
                yield _Import(f"{node.module}.{alias.name}", "", node.lineno)
        elif isinstance(node, ast.ImportFrom):
            parts = place.parent.parts
            folder = PurePosixPath(*parts[: len(parts) - node.level + 1], *(node.module or "").split("."))
            yield _Import("", str(folder), node.lineno)
            for alias in node.names:
                yield _Import("", str(folder / alias.name), node.lineno)


def _name_with_parents(name: str, line: int) -> Iterator[_Import]:
    parts = name.split(".")
    for end in range(1, len(parts) + 1):
        yield _Import(".".join(parts[:end]), "", line)
