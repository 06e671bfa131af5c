"""A file that a candidate changed, with what it held before and holds now, and what protects it by its path."""

import sys
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from pathlib import PurePosixPath
from typing import NamedTuple, TypeVar

from orchestrator.config.layers import PROJECT_FILE
from orchestrator.judge.files.path_globs import PathGlobs

SYMLINK_MODE = "120000"


class AddedLine(NamedTuple):
    """A line that a change adds; `number` counts in the new file."""

    path: str
    number: int
    text: str


class DiffHunk(NamedTuple):
    """Lines of a file that were taken out and put in together; `line` is where that is, counted in the new file."""

    path: str
    line: int
    removed: tuple[str, ...]
    added: tuple[str, ...]


T = TypeVar("T")
P = TypeVar("P", AddedLine, DiffHunk)


@dataclass(frozen=True)
class ChangedFile:
    """A path that differs from the base; a content is None where the path does not exist, or was not read.

    `old_mode` and `new_mode` are git's, None where the path does not exist.
    """

    path: str
    before: bytes | None
    after: bytes | None
    old_mode: str | None
    new_mode: str | None

    @property
    def is_new(self) -> bool:
        """True if the base does not have it."""
        return self.old_mode is None

    @property
    def is_deleted(self) -> bool:
        """True if the candidate does not have it any more."""
        return self.new_mode is None

    @property
    def is_unread(self) -> bool:
        """True if one of its sides exists and was not read, so that nothing can be said of it."""
        is_old_unread = self.old_mode is not None and self.before is None
        is_new_unread = self.new_mode is not None and self.after is None
        return is_old_unread or is_new_unread

    @property
    def has_new_content(self) -> bool:
        """True if there is a file, no link, whose content is known and differs from the base's."""
        return self.after is not None and self.new_mode != SYMLINK_MODE and self.after != self.before

    @property
    def is_python(self) -> bool:
        """True if Python runs it, and it can be read as its source."""
        return self.path.endswith((".py", ".pyi")) and SYMLINK_MODE not in {self.old_mode, self.new_mode}


def subtract_known(left: Iterable[T], right: Iterable[T], key: Callable[[T], Hashable]) -> list[T]:
    """Return what the left has more of than the right; `key` says what counts as the same."""
    known = Counter(map(key, right))
    rest = []
    for one in left:
        known[key(one)] -= 1
        if known[key(one)] < 0:
            rest.append(one)
    return rest


def group_by_path(parts: Iterable[P]) -> dict[str, list[P]]:
    """Return parts of a change by the path of their file, in their order."""
    parts_by_path: dict[str, list[P]] = {}
    for part in parts:
        parts_by_path.setdefault(part.path, []).append(part)
    return parts_by_path


class PathProtection(StrEnum):
    """The reason why a path is protected; the value is how a message names it."""

    TESTS = "a test of the base"
    CONFIGURATION = "what configures tests, builds or CI"
    STARTER = "what Python runs whenever it starts"
    SHADOW = "a module that would stand in place of one that the test run imports"
    SUPPORT = "what the gate or CI rests on"
    GATE = "run or read by the gate, the contract or a hook, which name it,"


_TESTS = PathGlobs(
    (
        *("test/**", "tests/**", "**/test/**", "**/tests/**", "**/__tests__/**"),
        *("test_*.py", "*_test.py", "tests.py", "tests_*.py", "*_tests.py", "/test.py"),
        *("*.test.*", "*.spec.*", "*[-_]test.[cm]js", "*[-_]test.js", "test-*.[cm]js", "test-*.js"),
        *("test.js", "test.[cm]js", "*_test.go", "*_spec.rb", "spec_helper.rb", "*Test.java", "*Tests.java"),
    )
)
_CONFIGURATION = PathGlobs(
    (
        *("conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "tox.ini", "tox.toml"),
        *(".coveragerc", "noxfile.py", "Makefile", "makefile", "GNUmakefile", ".mocharc*", "karma.conf.*"),
        *("jest.config.*", "vitest.config.*", "playwright.config.*", ".taprc", "phpunit.xml*"),
        *("/.github/**", "/.gitlab-ci.yml", "/.gitlab/**", "/.circleci/**", "/.ci/**", "/.travis.yml", "/Jenkinsfile"),
        *("/azure-pipelines.yml", "/.pre-commit-config.yaml", ".gitattributes", ".gitmodules"),
        *(f"/{PROJECT_FILE}", "/.orchestrate/**"),
        *("*.lock", "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "go.sum", ".npmrc", "pip.conf"),
    )
)
_STARTERS = PathGlobs(("sitecustomize.py", "usercustomize.py", "*.pth", "sitecustomize", "usercustomize"))
_RUNNERS = frozenset(
    {"pytest", "_pytest", "pluggy", "iniconfig", "unittest", "nose", "nose2", "coverage", "xdist", "tox", "nox"}
    | {"packaging", "exceptiongroup", "py", "pip", "setuptools", "pkg_resources"}
)
_STANDARD = frozenset(sys.stdlib_module_names) - {"test", "this", "antigravity"}
_COMPILED = ("so", "pyd", "pyc")
_ROOTS = frozenset({"", "src", "lib"})


def find_path_protection(path: str) -> PathProtection | None:
    """Return the protection that a path is under; None for ordinary code.

    A path that is configuration wherever it lies stays that among tests.
    """
    if path.casefold() == PROJECT_FILE:
        path = PROJECT_FILE
    if _STARTERS.match_file(path):
        return PathProtection.STARTER
    if _CONFIGURATION.match_file(path):
        return PathProtection.CONFIGURATION
    if _is_shadow(PurePosixPath(path)):
        return PathProtection.SHADOW
    if _TESTS.match_file(path):
        return PathProtection.TESTS
    return None


@lru_cache(maxsize=100_000)
def is_test_path(path: str) -> bool:
    """Return True if a path lies among tests, or is named like one; kept, as every judge asks it of the whole tree."""
    return _TESTS.match_file(path) or PurePosixPath(path).name == "conftest.py"


def _is_shadow(path: PurePosixPath) -> bool:
    """Return True if `import NAME` would find this instead of the runner's or Python's own module."""
    is_package = path.stem == "__init__"
    found = path.parent if is_package else path
    module, _, suffix = found.name.partition(".")
    if not is_package and suffix not in {"", "py"} and not suffix.endswith(_COMPILED):
        return False
    folder = str(found).rpartition("/")[0]
    if folder in _ROOTS:
        return module in _RUNNERS or module in _STANDARD
    return module in _RUNNERS and _TESTS.match_file(f"{folder}/x")
