"""Tests of which it is known how they must end: canaries, which stand among those of a project under drawn names.

They are never run here: the text goes into the sandbox, before that of `pytest_plugin`.
"""

from __future__ import annotations

import json
import math
import os
import pathlib
import random
import types
import unittest
from collections.abc import Callable
from typing import Any

import pluggy
import pytest
from _pytest.fixtures import FuncFixtureInfo
from _pytest.runner import runtestprotocol


def pass_plainly() -> None:
    """Compare numbers that are in order."""
    one, two = 1, 2
    assert one < two


def pass_by_equality() -> None:
    """Compare plain data that is equal."""
    assert [1, {"a": (2, None)}] == [1, {"a": (2, None)}]


def pass_by_raises() -> None:
    """Expect an exception that comes."""
    with pytest.raises(ValueError):
        int("x")


def pass_by_json() -> None:
    """Read a document."""
    assert json.loads('{"a": [1, 2]}') == {"a": [1, 2]}
    unittest.TestCase().assertIn("a", json.dumps({"a": 1}))


def fail_by_assert() -> None:
    """Fail as most tests do."""
    one, two = 1, 2
    assert one == two


def fail_by_exception() -> None:
    """Fail as tests do whose code fails."""
    raise ValueError("this is not caught")


def fail_by_unittest() -> None:
    """Fail as tests of the standard library do."""
    unittest.TestCase().assertEqual(1, 2)


def fail_by_raises() -> None:
    """Fail as tests do whose code should fail."""
    with pytest.raises(ValueError):
        str(1)


def fail_by_approx() -> None:
    """Fail as tests of numbers do."""
    one = 1.0
    assert one == pytest.approx(2.0)


def fail_by_equality() -> None:
    """Fail by plain data that differs."""
    assert [1, {"a": (2, None)}] == [1, {"a": (3, None)}]


def fail_by_json() -> None:
    """Fail by a document that says something else."""
    assert json.loads('{"a": [1, 2]}') == {"a": [1, 3]}


def fail_by_closeness() -> None:
    """Fail by numbers that are not close."""
    assert math.isclose(1.0, 2.0)


def fail_by_text() -> None:
    """Fail by a file that holds something else."""
    assert pathlib.Path(os.devnull).read_text() == "text"


def skip_itself() -> None:
    """Skip, and stay skipped."""
    pytest.skip("not here")


CANARIES: dict[str, tuple[str, str]] = {
    "pass_plainly": ("passed", "that must pass"),
    "pass_by_equality": ("passed", "that must pass by `==`"),
    "pass_by_raises": ("passed", "that must pass by `pytest.raises`"),
    "pass_by_json": ("passed", "that must pass by `json`"),
    "fail_by_assert": ("failed", "that must fail by `assert`"),
    "fail_by_exception": ("failed", "that must fail by an exception"),
    "fail_by_unittest": ("failed", "that must fail by `assertEqual`"),
    "fail_by_raises": ("failed", "that must fail by `pytest.raises`"),
    "fail_by_approx": ("failed", "that must fail by `pytest.approx`"),
    "fail_by_equality": ("failed", "that must fail by `==`"),
    "fail_by_json": ("failed", "that must fail by `json.loads`"),
    "fail_by_closeness": ("failed", "that must fail by `math.isclose`"),
    "fail_by_text": ("failed", "that must fail by `Path.read_text`"),
    "skip_itself": ("skipped", "that must be skipped"),
}
"""Each of them: how it must end, and what it is called in words."""


class _SilentHooks:
    """The hooks in force at an item, without those that would tell somebody of it."""

    def __init__(self, hooks: pluggy.HookRelay) -> None:
        self._hooks = hooks

    def __getattr__(self, name: str) -> object:
        return getattr(self._hooks, name)

    def pytest_exception_interact(self, **_: object) -> None:
        """Keep debuggers and hooks for failed tests out."""


class CanaryPlanter:
    """Runs canaries at drawn places between the tests of a session, where no fixture of these is torn down by it."""

    def __init__(
        self, session: pytest.Session, names: dict[str, str], draw: random.Random, is_known: Callable[[object], bool]
    ) -> None:
        """Plant in a session; `names` maps a drawn name to its function here, `draw` is a source of random numbers.

        Plugins that are not known from the base, and only those, hear of the reports of canaries: what they make of
        reports shows, and what others count does not change.
        """
        self._session = session
        self._is_known = is_known
        self._names = names
        self._draw = draw
        self._left = list(names)
        draw.shuffle(self._left)
        self._folders: set[object] = set()
        self._item_type: Any = type(
            "Function", (pytest.Function,), {"ihook": property(lambda item: _SilentHooks(_get_hooks(item)))}
        )

    def run_before(self, item: pytest.Item) -> list[tuple[str, str]]:
        """Return names and outcomes of canaries that run before the first test."""
        return self._run_some(1, None, item)

    def run_after(self, item: pytest.Item, following: pytest.Item | None) -> list[tuple[str, str]]:
        """Return names and outcomes of canaries that run after a test, at random; all that are left after the last."""
        if following is None:
            return self._run_some(max(2, len(self._left)), item, None)
        is_new = item.path.parent not in self._folders
        self._folders.add(item.path.parent)
        modules = 1 + len({one.path for one in self._session.items})
        wanted = len(self._names) / modules
        number = int(wanted) + (self._draw.random() < wanted % 1)
        return self._run_some(max(number, int(is_new and len(self._folders) < 8)), item, following)

    def _run_some(self, number: int, item: pytest.Item | None, following: pytest.Item | None) -> list[tuple[str, str]]:
        done = []
        for _ in range(number):
            if not self._left:
                self._left = [name for name in self._names if CANARIES[self._names[name]][0] == "failed"]
                self._draw.shuffle(self._left)
                self._left = self._left[:2]
            name = self._left.pop()
            wanted = CANARIES[self._names[name]][0]
            outcome = self._run_canary(name, item, following)
            if outcome != wanted:
                outcome = self._run_canary(name, item, following)
            done.append((name, outcome))
        return done

    def _run_canary(self, name: str, item: pytest.Item | None, following: pytest.Item | None) -> str:
        """Run one canary with the hooks of the test beside it; return how it ended."""
        beside = self._session.items[0].path
        if item is not None:
            beside = item.path
        parent = _find_shared_parent(item, following, self._session)
        path = beside.with_name(f"{name}.py")
        module = pytest.Module.from_parent(parent, path=path)
        module.obj = types.ModuleType(name)
        function = _copy_function(globals()[self._names[name]], name)
        canary = self._item_type.from_parent(module, name=name, callobj=function, fixtureinfo=_build_no_fixtures())
        canary.path = beside
        try:
            reports = runtestprotocol(canary, log=False, nextitem=following)
        except Exception as error:  # noqa: BLE001 -- a hook of the project did not expect it
            return f"an error of {type(error).__name__} in a hook"
        finally:
            self._session._setupstate.teardown_exact(following)
        self._show_unknown_plugins(reports)
        return _read_outcome(reports)

    def _show_unknown_plugins(self, reports: list[pytest.TestReport]) -> None:
        manager = self._session.config.pluginmanager
        known = [plugin for _, plugin in manager.list_name_plugin() if plugin is None or self._is_known(plugin)]
        if len(known) < len(manager.list_name_plugin()):
            tell = manager.subset_hook_caller("pytest_runtest_logreport", [one for one in known if one is not None])
            for report in reports:
                tell(report=report)


def _get_hooks(item: pytest.Item) -> pluggy.HookRelay:
    return item.session.gethookproxy(item.path)


def _find_shared_parent(
    item: pytest.Item | None, following: pytest.Item | None, session: pytest.Session
) -> pytest.Collector:
    """Return the last collector that both tests lie in, which stays set up between them."""
    if item is None or following is None:
        return session
    shared: Any = session
    others = following.listchain()
    for number, node in enumerate(item.listchain()):
        if number >= len(others) or others[number] is not node:
            break
        shared = node
    found: pytest.Collector = shared
    return found


def _copy_function(function: types.FunctionType, name: str) -> types.FunctionType:
    """Return a function that cannot be told by its name or file."""
    code = function.__code__.replace(co_name=name, co_filename=f"<{name}>")
    return types.FunctionType(code, function.__globals__, name)


def _build_no_fixtures() -> FuncFixtureInfo:
    return FuncFixtureInfo(argnames=(), initialnames=(), names_closure=[], name2fixturedefs={})


def _read_outcome(reports: list[pytest.TestReport]) -> str:
    """Return the outcome of a test from the reports of its phases."""
    by_phase = {report.when: report for report in reports}
    if "call" not in by_phase:
        report = by_phase["setup"]
        return "skipped" if report.skipped else "an error in its set-up"
    if by_phase["teardown"].failed:
        return "an error in its tear-down"
    if hasattr(by_phase["call"], "wasxfail"):
        return "expected to fail"
    return str(by_phase["call"].outcome)
