"""Paths that a test run rests on: tests, what configures or starts the run, modules that would stand in its way."""

import sys
from enum import StrEnum
from pathlib import PurePosixPath

from orchestrator.config.layers import PROJECT_FILE
from orchestrator.judge.files.path_globs import PathGlobs


class PathProtection(StrEnum):
    """The reason why a path is protected; the value is how a message names it."""

    TESTS = "a test of the base"
    CONFIGURATION = "what configures tests, builds or CI"
    STARTER = "what Python runs whenever it starts"
    SHADOW = "a module that would stand in place of one that the test run imports"
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
        f"/{PROJECT_FILE}",
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


def is_test_path(path: str) -> bool:
    """Return True if a path lies among tests, or is named like one."""
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
