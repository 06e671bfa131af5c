"""Files of the product that hold tests themselves, told by the ids of the tests that the gate ran on the base. Pure."""

import re
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from orchestrator.judge.files.changed_file import is_test_path

_ROOTS = ("", "src.", "lib.")


def find_doctested_files(paths: Iterable[str], tests: Iterable[str], commands: Sequence[str]) -> frozenset[str]:
    """Return those files whose examples ran as tests: by their ids, or because a command names doctest and the file."""
    names: dict[str, list[str]] = {}
    for test in tests:
        file, _, name = test.partition("::")
        names.setdefault(file, []).append(name)
    found = set()
    for path in paths:
        dotted = path.replace("/", ".").removesuffix(".py")
        is_run = any(_is_doctest(name, dotted, path) for name in names.get(dotted, ()))
        if not is_test_path(path) and (is_run or _is_named(PurePosixPath(path), commands)):
            found.add(path)
    return frozenset(found)


def _is_doctest(name: str, dotted: str, path: str) -> bool:
    """Return True if a test of a file is called as its module and what owns the docstring, or as a text file."""
    parts = dotted.split(".")
    for start in range(len(parts)):
        module = ".".join(parts[start:])
        if name == module or name.startswith(f"{module}."):
            return True
    return name == PurePosixPath(path).name


def find_self_testing_files(paths: Iterable[str], tests: Iterable[str]) -> frozenset[str]:
    """Return those files of Python that are no test files and hold functions that ran as tests."""
    modules = set()
    for test in tests:
        file, _, name = test.rpartition("::")
        parts = (file or name).split(".")
        for end in range(1, len(parts) + 1):
            modules.add(".".join(parts[:end]))
    found = set()
    for path in paths:
        place = PurePosixPath(path)
        if place.suffix == ".py" and place.stem != "__init__" and not is_test_path(path):
            dotted = path.replace("/", ".").removesuffix(".py")
            if any(dotted.removeprefix(root) in modules for root in _ROOTS):
                found.add(path)
    return frozenset(found)


def _is_named(place: PurePosixPath, commands: Sequence[str]) -> bool:
    for command in commands:
        if re.search(r"\bdoctest\b", command) and place.name in command:
            return True
    return False
