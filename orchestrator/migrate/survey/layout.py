"""The layout of a repository: languages, sources, tests, owners, environments."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.migrate.sharding.shards import find_pairs
from orchestrator.migrate.survey.repository_files import REQUIREMENT_FILES, RepositoryFiles

LANGUAGES: dict[str, tuple[str, ...]] = {
    "python": (".py",),
    "typescript": (".ts", ".tsx"),
    "javascript": (".js", ".jsx", ".mjs", ".cjs"),
}
_TEST_DIRECTORIES = frozenset({"test", "tests", "__tests__", "spec", "testing"})
_TEST_FILE = compile_lazily(r"(?:test_[^/]*|[^/]*_test|tests)\.py|[^/]*\.(?:test|spec)\.[cm]?[jt]sx?|conftest\.py")
_FOREIGN = compile_lazily(r"(?:^|/)(?:_?vendor(?:ed)?|third[_-]party|extern(?:al)?s?|node_modules|dist|\w+\.egg-info)/")
_GENERATED = ("*_pb2.py", "*_pb2_grpc.py", "*.min.js")
_BESIDE = frozenset({"docs", "doc", "examples", "example", "benchmarks", "bench", "scripts", "tools", "build"})
_FEWEST_PAIRS = 2
_ENVIRONMENTS = (".venv", "venv")
_MANIFESTS = (
    *("uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock", *reversed(REQUIREMENT_FILES), "pyproject.toml"),
    *("package-lock.json", "yarn.lock", "pnpm-lock.yaml"),
)


def detect_language(project: RepositoryFiles) -> str:
    """Return the language that most files are written in; empty if none is known."""
    counts = Counter({name: len(project.list_with_suffix(*suffixes)) for name, suffixes in LANGUAGES.items()})
    name, most = counts.most_common(1)[0]
    return name if most else ""


def is_test(path: str) -> bool:
    """Return True if a file is a test, or lies where tests lie."""
    place = PurePosixPath(path)
    return bool(_TEST_FILE.fullmatch(place.name)) or not _TEST_DIRECTORIES.isdisjoint(place.parts[:-1])


def build_test_globs(files: Sequence[str]) -> tuple[str, ...]:
    """Return globs of the files that are tests: of the directories they share, or by their names."""
    return tuple(sorted(set(map(_build_test_glob, filter(is_test, files)))))


def _build_test_glob(path: str) -> str:
    place = PurePosixPath(path)
    parts = place.parts[:-1]
    for depth, part in enumerate(parts, start=1):
        if part in _TEST_DIRECTORIES:
            return f"{'/'.join(parts[:depth])}/**/*{place.suffix}"
    if place.name.startswith("test_"):
        return f"test_*{place.suffix}"
    ending = re.search(r"(?:_test|[.]test|[.]spec)$", place.stem)
    return f"*{ending[0]}{place.suffix}" if ending else place.name


def build_source_globs(files: Sequence[str]) -> tuple[str, ...]:
    """Return globs of the files that are no tests, by their topmost directories.

    Files at the top stand for themselves.
    """
    return tuple(sorted(set(map(_build_source_glob, filter(_is_source, files)))))


def _is_source(path: str) -> bool:
    return not is_test(path) and PurePosixPath(path).parts[0] not in _BESIDE and path != "setup.py"


def _build_source_glob(path: str) -> str:
    parts = PurePosixPath(path).parts
    if len(parts) > 1:
        return f"{parts[0]}/**/*{PurePosixPath(path).suffix}"
    return f"/{path}"


def build_exclude_globs(paths: Sequence[str]) -> tuple[str, ...]:
    """Return globs of what others have written or a program has: vendored code, generated files."""
    foreign: set[str] = set()
    generated: set[str] = set()
    for path in paths:
        if match := _FOREIGN.search(path):
            foreign.add(path[: match.end()] + "**")
        generated.update(filter(PurePosixPath(path).match, _GENERATED))
    return (*sorted(foreign), *filter(generated.__contains__, _GENERATED))


def build_pair_rules(files: Sequence[str]) -> tuple[str, ...]:
    """Return rules for `[shard] pair` where at least two sources have a test file of their own."""
    known = set(files)
    return tuple(rule for rule in _list_pair_rules(files) if _count_pairs(rule, known) >= _FEWEST_PAIRS)


def _list_pair_rules(files: Sequence[str]) -> Iterator[str]:
    homes, places = set(), set()
    for path in files:
        parent = str(PurePosixPath(path).parent)
        if _is_source(path) and path.endswith(".py"):
            homes.add(parent)
        if PurePosixPath(path).name.startswith("test_"):
            places.add(parent)
    for home in sorted(homes - {"."}):
        for place in sorted(places - {"."}):
            yield rf"{re.escape(home)}/([^/]+)\.py -> {place}/test_\1.py"


def _count_pairs(rule: str, known: set[str]) -> int:
    return sum(test in known for _, test in find_pairs(sorted(known), [rule]))


def list_environments(project: RepositoryFiles) -> tuple[str, ...]:
    """Return the environments in the checkout that the tests could run in."""
    found = [name for name in _ENVIRONMENTS if project.is_in_checkout(name, "pyvenv.cfg")]
    if project.is_in_checkout("node_modules"):
        found.append("node_modules")
    return tuple(found)


def list_manifests(project: RepositoryFiles) -> tuple[str, ...]:
    """Return the committed files that say what an environment is made of."""
    return tuple(filter(project.paths.__contains__, _MANIFESTS))
