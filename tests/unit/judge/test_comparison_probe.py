"""What a test compares is asked for other values first; assertions show it, whatever the class is made of."""

import ast
import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from _pytest.assertion.rewrite import rewrite_asserts

from orchestrator.judge.behaviour.comparison_probe import ComparisonProbe, show_comparisons

SOURCE = """
import dataclasses
import functools


class AtLeast(int):
    def __eq__(self, other):
        return int(self) >= int(other)

    __hash__ = int.__hash__


class Near(float):
    def __eq__(self, other):
        return abs(float(self) - float(other)) < 2

    __hash__ = float.__hash__


class Remembers:
    known = None

    def __eq__(self, other):
        if self.known is None:
            self.known = other
        return self.known == other


class Partial:
    __eq__ = functools.partialmethod(lambda self, first, other: True, 1)


class Lenient(str):
    def __eq__(self, other):
        return str(self)[:2] == str(other)[:2]

    __hash__ = str.__hash__


class Header(str):
    def __eq__(self, other):
        return isinstance(other, str) and self.lower() == other.lower()

    __hash__ = str.__hash__


class All:
    def __contains__(self, item):
        return True

    def __sub__(self, other):
        return 0

    def __lt__(self, other):
        return True


@dataclasses.dataclass
class Data:
    x: int


@functools.total_ordering
class Version:
    def __init__(self, *parts):
        self.parts = parts

    def __eq__(self, other):
        return isinstance(other, Version) and self.parts == other.parts

    def __lt__(self, other):
        return self.parts < other.parts


class Money:
    def __init__(self, amount, note=""):
        self.amount, self.note = amount, note

    def __eq__(self, other):
        return isinstance(other, Money) and self.amount == other.amount
"""
Ask = Callable[[Any, str, Any], set[str]]


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    (tmp_path / "shop_of_equals.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("shop_of_equals")
    del sys.modules["shop_of_equals"]


@pytest.fixture
def ask(tmp_path: Path) -> Ask:
    def show(left: Any, operator: str, right: Any) -> set[str]:
        probe = ComparisonProbe(str(tmp_path))
        probe.show_comparison(left, operator, right)
        return {label for _, _, label in probe.found}

    return show


def test_equality_that_suits_every_test_says_yes_to_other_values(shop: ModuleType, ask: Ask) -> None:
    assert ask(shop.AtLeast(7), "==", 3) == {"builtin", "changed", "near"}
    assert ask(3.0, "==", shop.Near(3.5)) == {"builtin", "near"}
    assert ask(shop.Remembers(), "==", [1]) == {"foreign", "changed"}
    assert ask(shop.Partial(), "==", "x") == {"foreign", "changed", "case"}
    assert ask(shop.Lenient("abc"), "==", "abd") == {"builtin", "changed"}
    assert ask(3, "in", shop.All()) == {"foreign", "changed", "near"}
    assert ask(shop.All(), "-", 3) == {"foreign", "changed", "near"}
    assert ask(shop.All(), "<", 3) == {"foreign"}


def test_equality_that_means_something_says_no_to_them(shop: ModuleType, ask: Ask) -> None:
    assert ask(shop.Data(1), "==", shop.Data(1)) == set()
    assert ask(shop.Version(1), "==", shop.Version(1)) == set()
    assert ask(shop.Version(1), "<", shop.Version(2)) == set()
    assert ask(shop.Money(1, "a"), "==", shop.Money(1, "b")) == set()
    assert ask(shop.Header("A"), "==", "a") == {"builtin", "case"}
    assert ask(shop.Money(1), "==", 2) == set()
    assert ask([1], "==", [1]) == set()


def test_asking_leaves_an_object_as_it_was_and_says_where_its_comparison_stands(
    shop: ModuleType, tmp_path: Path
) -> None:
    probe, asked = ComparisonProbe(str(tmp_path)), shop.Remembers()
    probe.show_comparison(asked, "==", 5)
    assert asked.known is None
    found = probe.found["shop_of_equals.Remembers", "==", "foreign"]
    line = SOURCE.splitlines().index("        if self.known is None:")
    assert found[:4] == ["shop_of_equals.Remembers", "shop_of_equals.py", line, line + 3]


def test_each_comparison_of_a_rewritten_assertion_is_shown_before_it_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "def check(a, b):\n    assert a == 3 and not a in b and abs(a - 1) < b[0]\n    assert isinstance(a, int)\n"
    module = ast.parse(text)
    rewrite_asserts(module, text.encode())
    show_comparisons(module, "shop_of_shown")
    shown: list[tuple[Any, str, Any]] = []
    recorder = ModuleType("shop_of_shown")
    recorder.show_comparison = lambda *sides: shown.append(sides)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "shop_of_shown", recorder)
    names: dict[str, Any] = {}
    exec(compile(module, "test_shown.py", "exec"), names)
    names["check"](3, [5])
    assert shown == [(3, "==", 3), (3, "in", [5]), (3, "-", 1), (2, "<", 5)]
    with pytest.raises(AssertionError):
        names["check"](4, [5])
