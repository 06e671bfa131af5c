"""A package of many modules that use an old function, in a repository where a few of them cannot use the new one."""

from collections.abc import Mapping
from pathlib import Path

from orchestrator.domain.ids import UnitId
from tests.running.projects import repository

MODULES = 600
SYNTAX, SEMANTIC, SLOW, FLAKY, ENVIRONMENT, LEFT, RIGHT = (
    UnitId(f"pkg/m{number:03}.py") for number in (50, 123, 200, 300, 400, 510, 590)
)
GUILTY = frozenset({SYNTAX, SEMANTIC, SLOW, FLAKY, ENVIRONMENT, LEFT, RIGHT})
"""Those that must not land: the last two fail only together, each of the others by itself."""
CODEMOD = "python3 codemod.py {files}"

_ARGUMENTS: Mapping[str, str] = {
    SYNTAX: 'str("plain")',
    SEMANTIC: '"odd"',
    SLOW: '"slow"',
    FLAKY: '"flaky"',
    ENVIRONMENT: '"environment"',
    LEFT: '"left"',
    RIGHT: '"right"',
}
_LIBRARY = """import os
import random
import time


def old(word):
    return word


def new(word):
    if word == "odd":
        return "even"
    if word == "slow":
        time.sleep(600)
    if word == "flaky" and random.random() < %s:
        raise RuntimeError("not this time")
    if word == "environment":
        return os.environ["WORDS_OF_THE_NEW_WORLD"]
    return {"left": "LEFT", "right": "RIGHT"}.get(word, word)
"""
_CODEMOD = """import pathlib
import sys

for name in sys.argv[1:]:
    path = pathlib.Path(name)
    path.write_text(path.read_text().replace("old", "new").replace("))", ")"))
"""
_TEST_EACH = """import importlib
import unittest


class EachTest(unittest.TestCase):
    pass


def made(name):
    def test(self):
        self.assertIsInstance(importlib.import_module(f"pkg.{name}").word(), str)

    return test


for number in range(%d):
    setattr(EachTest, f"test_m{number:03}", made(f"m{number:03}"))
"""
_TEST_WORDS = """import importlib
import pathlib
import unittest


class WordsTest(unittest.TestCase):
    def test_all_words_are_known(self):
        names = pathlib.Path("tests/names.txt").read_text().split()
        words = {importlib.import_module(f"pkg.{name}").word() for name in names}
        self.assertEqual(words, {"plain", "odd"})
"""
_TEST_SIDES = """import unittest

from pkg import %s as left, %s as right


class SidesTest(unittest.TestCase):
    def test_one_side_at_least_is_small(self):
        self.assertNotEqual((left.word(), right.word()), ("LEFT", "RIGHT"))
"""


def guilty(modules: int) -> frozenset[UnitId]:
    """Those that must not land in a package of so many modules; they stand at the same share of its length."""
    return frozenset(_scaled(path, modules) for path in GUILTY)


def package(root: Path, modules: int = MODULES, flakiness: float = 1.0) -> Path:
    """The repository, with a codemod that makes every module use the new function.

    Args:
        root: where it is made.
        modules: how many there are, 60 at least.
        flakiness: the share of runs in which the flaky one fails.
    """
    arguments = {_scaled(path, modules): argument for path, argument in _ARGUMENTS.items()}
    paths = [_path(number) for number in range(modules)]
    names = "\n".join(f"m{number:03}" for number in range(modules // 6, modules // 3))
    sides = tuple(Path(_scaled(path, modules)).stem for path in (LEFT, RIGHT))
    tests = {
        "tests/__init__.py": "",
        "tests/names.txt": names + "\n",
        "tests/test_each.py": _TEST_EACH % modules,
        "tests/test_sides.py": _TEST_SIDES % sides,
        "tests/test_words.py": _TEST_WORDS,
    }
    library = _LIBRARY % flakiness
    rest = {".gitignore": "__pycache__/\n", "words.py": library, "codemod.py": _CODEMOD, "pkg/__init__.py": ""}
    return repository(root, {**{path: _module(arguments.get(path, '"plain"')) for path in paths}, **tests, **rest})


def _path(number: int) -> UnitId:
    return UnitId(f"pkg/m{number:03}.py")


def _scaled(path: UnitId, modules: int) -> UnitId:
    return _path(int(Path(path).stem.removeprefix("m")) * modules // MODULES)


def _module(argument: str) -> str:
    return f"from words import old\n\n\ndef word():\n    return old({argument})\n"
