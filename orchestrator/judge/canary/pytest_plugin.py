"""The inside of a canary run: a plugin of pytest that puts tests of the harness in place of those that were collected.

It is never imported here: its text goes into the sandbox, where the project's own pytest loads it, under a name that
nobody knows beforehand. By then everything that the tests import has been imported, so whatever would change what tests
report is in place, and has tests before it of which the harness knows how they must end.

There is a set of them for every directory that holds tests, with the hooks that are in force there.
"""

from __future__ import annotations

import sys
import unittest
from collections.abc import Iterator
from pathlib import Path

import pytest

MODULE = "canary"
NAMES: dict[str, str] = {}
"""What is put after this text gives both their values: `NAMES` is for each test below what it is called this time."""


def must_pass() -> None:
    """Nothing is wrong here."""
    one, two = 1, 2
    assert one < two


def must_fail_by_assert() -> None:
    """As most tests fail."""
    one, two = 1, 2
    assert one == two


def must_fail_by_raise() -> None:
    """As tests fail whose code does."""
    raise ValueError("this is not caught")


def must_fail_by_unittest() -> None:
    """As tests of the standard library fail."""
    unittest.TestCase().assertEqual(1, 2)


def must_fail_by_raises() -> None:
    """As tests fail whose code should."""
    with pytest.raises(ValueError):
        str(1)


def must_fail_by_approx() -> None:
    """As tests of numbers fail."""
    one = 1.0
    assert one == pytest.approx(2.0)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Let all of them run, whatever else is broken: that is for the gate to say."""
    config.option.maxfail = 0
    config.option.continue_on_collection_errors = True


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, items: list[pytest.Item]) -> Iterator[None]:
    """Plant them, after everybody else has had a hand in what was collected."""
    root = session.config.rootpath
    found = {item.path.parent: item.path for item in items} or {root: root}
    yield
    items.clear()
    for number, folder in enumerate(sorted(found)):
        items.extend(_build_canaries(session, number, found[folder]))


def _build_canaries(session: pytest.Session, number: int, path: Path) -> Iterator[pytest.Item]:
    """Yield a set of canaries, with the hooks of `path`, in a module that does not exist and that nobody has marked."""
    module = pytest.Module.from_parent(session, path=session.config.rootpath / f"{MODULE}_{number}.py")
    module.obj = sys.modules[__name__]
    for function, name in NAMES.items():
        item = pytest.Function.from_parent(module, name=name, callobj=globals()[function])
        item.path = path
        yield item
