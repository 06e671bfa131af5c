"""The import graph of files, read from their contents alone: Python, JavaScript and TypeScript."""

import re
from collections import defaultdict, deque
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import PurePosixPath
from posixpath import normpath

import anyio
from anyio import to_thread

from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.judge.selection.python_imports import (
    ImportStatement,
    ModuleIndex,
    list_import_statements,
    resolve_python_imports,
)
from worktrees.git import Git
from worktrees.object_store.trees import TreeEntry, list_tree, read_files

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


PYTHON_SUFFIXES = (".py", ".pyi")
_READ = SCRIPT_SUFFIXES.union(PYTHON_SUFFIXES)
_CODE_BYTES = 1024 * 1024
_FILE_MODES = frozenset({"100644", "100755"})


def parse_script_imports(path: str, content: bytes, known: Container[str]) -> set[str]:
    """Return those of the known files that a file imports or requires."""
    return resolve_script_imports(path, list_script_imports(content), known)


def list_script_imports(content: bytes) -> tuple[str, ...]:
    """Return the relative paths that a source imports or requires, as it writes them."""
    matches = _TOKEN.finditer(content.decode("utf-8", "replace"))
    return tuple(match["path"] for match in matches if match["path"])


def resolve_script_imports(path: str, imported: Iterable[str], known: Container[str]) -> set[str]:
    """Return those of the known files that are meant by relative paths which a file imports."""
    folder = PurePosixPath(path).parent
    found = set()
    for place in imported:
        candidates = _list_candidates(normpath(str(folder / place)))
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


@dataclass(frozen=True)
class ImportGraph:
    """Direct imports among the files that were read: path to the paths it imports.

    `packages` has for each package file (`__init__.py`) what imports anything below the package, since that runs the
    package file too. It does not stand in `imports`, or nearly everything would hang together.
    """

    imports: Mapping[str, frozenset[str]]
    packages: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @cached_property
    def importers(self) -> Mapping[str, frozenset[str]]:
        """The paths that import each path directly."""
        found: dict[str, set[str]] = defaultdict(set)
        for path, imported in self.imports.items():
            for other in imported:
                found[other].add(path)
        return {path: frozenset(others) for path, others in found.items()}

    def find_dependents(self, paths: Iterable[str]) -> set[str]:
        """Return the paths and everything that imports one of them, directly or not."""
        start = set(paths)
        for path in list(start):
            start |= self.packages.get(path, frozenset())
        waiting, seen = deque(start), set(start)
        while waiting:
            fresh = self.importers.get(waiting.popleft(), frozenset()) - seen
            seen |= fresh
            waiting.extend(fresh)
        return seen

    @cached_property
    def cycles(self) -> tuple[tuple[str, ...], ...]:
        """All files in groups, mostly of one, that import each other in a circle; each after what it imports."""
        return tuple(tuple(sorted(group)) for group in _find_components(self.imports))

    @property
    def leaves_first(self) -> tuple[str, ...]:
        """All files, each after what it imports; files of one circle stand together."""
        return tuple(chain.from_iterable(self.cycles))

    def cluster_paths(self, paths: Sequence[str], limit: int) -> tuple[tuple[str, ...], ...]:
        """Return the paths in groups of at most `limit` that have to do with each other; a circle may be larger.

        Files that import each other in a circle are together. Groups join along imports, those of what few others
        import first, as long as they stay within the limit.
        """
        wanted = set(paths)
        groups = _GrowingGroups([list(filter(wanted.__contains__, cycle)) for cycle in self.cycles])
        ties = []
        for path in wanted:
            for other in self.imports[path] & wanted:
                ties.append((len(self.importers.get(other, ())), other, path))
        for _, other, path in sorted(ties):
            groups.join_groups(path, other, limit)
        return groups.list_groups()

    def name_clusters(self, paths: Iterable[str], limit: int) -> Mapping[str, str]:
        """Return the name of each path's cluster: that of the cluster's first file, without its suffix."""
        names: dict[str, str] = {}
        for cluster in self.cluster_paths([path for path in paths if path in self.imports], limit):
            names |= dict.fromkeys(cluster, str(PurePosixPath(cluster[0]).with_suffix("")))
        return names


@dataclass(frozen=True)
class SourceImports:
    """The imports of one source, as it writes them: statements of Python, or relative paths of scripts."""

    statements: tuple[ImportStatement, ...] = ()
    paths: tuple[str, ...] = ()


_NO_IMPORTS = SourceImports()


def read_source_imports(path: str, content: bytes) -> SourceImports:
    """Return what a source imports; nothing for other languages, and for files that do not parse."""
    if path.endswith(PYTHON_SUFFIXES):
        return SourceImports(statements=list_import_statements(content))
    if _find_suffix(path) in SCRIPT_SUFFIXES:
        return SourceImports(paths=list_script_imports(content))
    return _NO_IMPORTS


def build_import_graph(contents: Mapping[str, bytes]) -> ImportGraph:
    """Return the imports among these files; files of other languages and files that do not parse import nothing."""
    sources = {path: read_source_imports(path, content) for path, content in contents.items()}
    return connect_imports(sources)


def connect_imports(sources: Mapping[str, SourceImports]) -> ImportGraph:
    """Return the imports among these files."""
    return _ConnectedSources(sources).build_graph()


class _ConnectedSources:
    """The imports of each of these files, and the package files that they run beside them.

    Those known from `earlier` sources are not looked up again unless a file has come or gone: then a name may mean
    another file.
    """

    def __init__(self, sources: Mapping[str, SourceImports], earlier: "_ConnectedSources | None" = None) -> None:
        self._sources: Mapping[str, SourceImports] = sources
        known = earlier if earlier is not None and earlier._sources.keys() == sources.keys() else None
        self._modules: ModuleIndex = known._modules if known else _index_modules(sources)
        self._found: dict[str, tuple[frozenset[str], frozenset[str]]] = {}
        for path, source in sources.items():
            if known and known._sources[path] is source:
                self._found[path] = known._found[path]
            else:
                self._found[path] = self._connect_source(path, source)

    def _connect_source(self, path: str, source: SourceImports) -> tuple[frozenset[str], frozenset[str]]:
        found, through = resolve_python_imports(path, source.statements, self._modules)
        found |= resolve_script_imports(path, source.paths, self._sources)
        return frozenset(found - {path}), frozenset(through - found - {path})

    def build_graph(self) -> ImportGraph:
        """Return the graph of all imports."""
        packages: dict[str, set[str]] = defaultdict(set)
        imports: dict[str, frozenset[str]] = {}
        for path in sorted(self._found):
            imports[path], through = self._found[path]
            for package in through:
                packages[package].add(path)
        return ImportGraph(imports, {path: frozenset(others) for path, others in packages.items()})


def _index_modules(paths: Iterable[str]) -> ModuleIndex:
    return ModuleIndex([path for path in paths if path.endswith(PYTHON_SUFFIXES)])


async def read_import_graph(git: Git, commit: str) -> ImportGraph:
    """Return which file of a commit imports which."""
    return await ImportGraphReader().read_graph(git, commit)


class ImportGraphReader:
    """Reads the import graphs of commits that have most files in common: each blob is parsed once."""

    def __init__(self) -> None:
        self._turn = anyio.Lock()  # whoever comes second finds what the first has parsed
        self._known: dict[tuple[str, str], SourceImports] = {}
        self._latest: _ConnectedSources | None = None

    async def read_graph(self, git: Git, commit: str) -> ImportGraph:
        """Return which file of a commit imports which.

        Raises:
            GitError: the commit does not exist.
        """
        oids = {}
        for entry in await list_tree(git, commit):
            if _is_code(entry):
                oids[entry.path] = entry.oid
        async with self._turn:
            fresh = {path: oid for path, oid in oids.items() if (_find_suffix(path), oid) not in self._known}
            contents = await read_files(git, fresh)
            return await to_thread.run_sync(self._connect, oids, contents)

    def _connect(self, oids: Mapping[str, str], contents: Mapping[str, bytes]) -> ImportGraph:
        for path, content in contents.items():
            self._known[_find_suffix(path), oids[path]] = read_source_imports(path, content)
        sources = {}
        for path, oid in oids.items():
            sources[path] = self._known.get((_find_suffix(path), oid), _NO_IMPORTS)
        self._latest = connected = _ConnectedSources(sources, self._latest)
        return connected.build_graph()


def _is_code(entry: TreeEntry) -> bool:
    return _find_suffix(entry.path) in _READ and entry.mode in _FILE_MODES and (entry.size or 0) <= _CODE_BYTES


def _find_suffix(path: str) -> str:
    """Return the suffix of a path's last name with its dot; empty if it has none."""
    stem, dot, suffix = path.rpartition("/")[2].rpartition(".")
    return dot + suffix if stem else ""


class _GrowingGroups:
    """Groups that grow together."""

    def __init__(self, groups: Sequence[list[str]]) -> None:
        self._members = dict(enumerate(filter(None, groups)))
        self._of: dict[str, int] = {}
        for number, members in self._members.items():
            self._of |= dict.fromkeys(members, number)

    def join_groups(self, one: str, other: str, limit: int) -> None:
        first, second = sorted((self._of[one], self._of[other]))
        if first == second or len(self._members[first]) + len(self._members[second]) > limit:
            return
        for path in self._members.pop(second):
            self._of[path] = first
            self._members[first].append(path)

    def list_groups(self) -> tuple[tuple[str, ...], ...]:
        return tuple(sorted(tuple(sorted(members)) for members in self._members.values()))


def _find_components(edges: Mapping[str, frozenset[str]]) -> list[list[str]]:
    """Return strongly connected components, each after those it leads to (Tarjan's algorithm, without recursion)."""
    number, low = dict[str, int](), dict[str, int]()
    waiting, found = list[str](), list[list[str]]()

    def enter_node(node: str) -> tuple[str, Iterator[str]]:
        number[node] = low[node] = len(number)
        waiting.append(node)
        return node, iter(sorted(edges[node]))

    for root in sorted(edges):
        work = [] if root in low else [enter_node(root)]
        while work:
            node, rest = work[-1]
            if (child := next(rest, None)) is not None:
                if child not in low:
                    work.append(enter_node(child))
                low[node] = min(low[node], number[child])
                continue
            work.pop()
            if work:
                low[work[-1][0]] = min(low[work[-1][0]], low[node])
            if low[node] == number[node]:
                found.append([waiting.pop()])
                while found[-1][-1] != node:
                    found[-1].append(waiting.pop())
                number |= dict.fromkeys(found[-1], len(edges))  # whoever leads here is in no circle with them
    return found
