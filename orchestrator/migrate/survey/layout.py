"""Where things lie: languages, sources, tests, owners, environments."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from orchestrator.migrate.survey.repository_files import RepositoryFiles

LANGUAGES: dict[str, tuple[str, ...]] = {
    "python": (".py",),
    "typescript": (".ts", ".tsx"),
    "javascript": (".js", ".jsx", ".mjs", ".cjs"),
}
CODEOWNERS_FILES = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS")
_TEST_DIRECTORIES = frozenset({"test", "tests", "__tests__", "spec", "testing"})
_TEST_FILE = re.compile(r"(?:test_[^/]*|[^/]*_test|tests)\.py|[^/]*\.(?:test|spec)\.[cm]?[jt]sx?|conftest\.py")
_FOREIGN = re.compile(r"(?:^|/)(?:_?vendor(?:ed)?|third[_-]party|extern(?:al)?s?|node_modules|dist|\w+\.egg-info)/")
_GENERATED = ("*_pb2.py", "*_pb2_grpc.py", "*.min.js")
_BESIDE = frozenset({"docs", "doc", "examples", "example", "benchmarks", "bench", "scripts", "tools", "build"})
_ENVIRONMENTS = (".venv", "venv", "env")
_MANIFESTS = (
    *("uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock", "requirements.txt", "requirements-dev.txt"),
    *("requirements/test.txt", "requirements/tests.txt", "requirements/dev.txt", "pyproject.toml"),
    *("package-lock.json", "yarn.lock", "pnpm-lock.yaml"),
)


def detect_language(project: RepositoryFiles) -> str:
    """The language that most files are written in; empty if none is known."""
    counts = Counter({name: len(project.list_with_suffix(*suffixes)) for name, suffixes in LANGUAGES.items()})
    name, most = counts.most_common(1)[0]
    if most:
        return name
    return ""


def is_test(path: str) -> bool:
    """Whether a file is a test, or lies where tests lie."""
    place = PurePosixPath(path)
    return bool(_TEST_FILE.fullmatch(place.name)) or not _TEST_DIRECTORIES.isdisjoint(place.parts[:-1])


def build_test_globs(files: Sequence[str]) -> tuple[str, ...]:
    """Globs of the files that are tests: of the directories they share, or by their names."""
    tests = [path for path in files if is_test(path)]
    return tuple(sorted(dict.fromkeys(_test_glob(path) for path in tests)))


def _test_glob(path: str) -> str:
    place = PurePosixPath(path)
    parts = place.parts[:-1]
    depth = next((n for n, part in enumerate(parts, start=1) if part in _TEST_DIRECTORIES), None)
    if depth is not None:
        return f"{'/'.join(parts[:depth])}/**/*{place.suffix}"
    if place.name.startswith("test_"):
        return f"test_*{place.suffix}"
    ending = re.search(r"(?:_test|[.]test|[.]spec)$", place.stem)
    if ending:
        return f"*{ending[0]}{place.suffix}"
    return place.name


def build_source_globs(files: Sequence[str]) -> tuple[str, ...]:
    """Globs of the files that are no tests, by their topmost directories; files at the top stand for themselves."""
    return tuple(sorted(dict.fromkeys(_source_glob(path) for path in files if _is_source(path))))


def _is_source(path: str) -> bool:
    return not is_test(path) and PurePosixPath(path).parts[0] not in _BESIDE and path != "setup.py"


def _source_glob(path: str) -> str:
    parts = PurePosixPath(path).parts
    if len(parts) > 1:
        return f"{parts[0]}/**/*{PurePosixPath(path).suffix}"
    return f"/{path}"


def build_exclude_globs(paths: Sequence[str]) -> tuple[str, ...]:
    """Globs of what others have written or a program has: vendored code, generated files."""
    foreign = {path[: match.end()] + "**" for path in paths if (match := _FOREIGN.search(path))}
    generated = []
    for glob in _GENERATED:
        if any(PurePosixPath(path).match(glob) for path in paths):
            generated.append(glob)
    return (*sorted(foreign), *generated)


def build_pair_rules(files: Sequence[str]) -> tuple[str, ...]:
    """Rules for `[shard] pair` where at least two sources have a test file of their own."""
    known = set(files)
    return tuple(rule for rule in _rules(files) if _held(rule, known) >= 2)


def _rules(files: Sequence[str]) -> Iterator[str]:
    homes = set()
    for path in files:
        if _is_source(path) and path.endswith(".py"):
            homes.add(str(PurePosixPath(path).parent))
    places = set()
    for path in files:
        if PurePosixPath(path).name.startswith("test_"):
            places.add(str(PurePosixPath(path).parent))
    for home in sorted(homes - {"."}):
        for place in sorted(places - {"."}):
            yield rf"{re.escape(home)}/([^/]+)\.py -> {place}/test_\1.py"


def _held(rule: str, known: set[str]) -> int:
    pattern, _, template = rule.partition(" -> ")
    matches = (re.fullmatch(pattern, path) for path in known)
    return sum(match.expand(template) in known for match in matches if match)


def find_codeowners(project: RepositoryFiles) -> str:
    """The file that names owners, if there is one."""
    return next((name for name in CODEOWNERS_FILES if name in project.paths), "")


def list_environments(project: RepositoryFiles) -> tuple[str, ...]:
    """Environments in the checkout that the tests could run in."""
    found = []
    for name in _ENVIRONMENTS:
        if project.is_in_checkout(name, "pyvenv.cfg"):
            found.append(name)
    return (*found, *(["node_modules"] if project.is_in_checkout("node_modules") else []))


def list_manifests(project: RepositoryFiles) -> tuple[str, ...]:
    """Committed files that say what an environment is made of."""
    return tuple(name for name in _MANIFESTS if name in project.paths)
