"""Tests of the base are found again by what they do; what they need to change is named, one intent for each."""

import pytest

from orchestrator.domain.judging.check import Difference, TestOutcome
from orchestrator.domain.run.grant import GrantIntent, parse_grant
from orchestrator.judge.evolution.fates import trace_tests
from orchestrator.judge.evolution.test_evolution import TestEvolution
from orchestrator.judge.files.changed_file import ChangedFile
from orchestrator.judge.gate.changed_test_ids import exclude_evolved_tests, find_excused_tests
from tests.unit.judge.changes import changed

PATH = "tests/test_cart.py"
HEAD = "import unittest\n\nimport pytest\nfrom shop.cart import Cart, total\n\n\n"
TOTAL = "def test_total():\n    assert total([1, 2]) == 3\n"
EMPTY = "def test_empty():\n    assert total([]) == 0\n"
MORE = "def test_more():\n    cart = [4]\n    assert total(cart) == 4\n"
CASES = "@pytest.mark.parametrize(('prices', 'expected'), [([1, 2], 3), ([], 0)])\ndef test_total(prices, expected):\n"
SUM = "    assert total(prices) == expected\n"
IN_CLASS = (
    "class TotalTest(unittest.TestCase):\n    def setUp(self):\n        self.cart = Cart()\n\n"
    "    def test_total(self):\n        self.assertEqual(self.cart.total([1, 2]), 3)\n"
)
AS_FUNCTION = (
    "@pytest.fixture\ndef cart():\n    return Cart()\n\n\ndef test_total(cart):\n    assert cart.total([1, 2]) == 3\n"
)


def needs(before: str, after: str | None, *more: ChangedFile) -> dict[str, GrantIntent | None]:
    """What the tests of a file need for what became of them, by name."""
    now = None if after is None else HEAD + after
    fates = trace_tests([changed(PATH, HEAD + before, now), *more])
    return {fate.old.last_name: fate.needs for fate in fates if fate.old.is_collected}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (TOTAL, TOTAL.replace("test_total", "test_sum_of_prices")),
        (TOTAL, TOTAL + "    assert total([5]) == 5\n"),
        (TOTAL, TOTAL.replace("    assert", "    prices = [1, 2]\n    assert").replace("([1, 2])", "(prices)")),
        (TOTAL, f"class TestTotal:\n    def test_total(self):\n        assert total([1, 2]) == 3\n{EMPTY}"),
        (TOTAL + EMPTY, CASES + SUM),
        (TOTAL + EMPTY, CASES.replace("[([1", "[([9], 9), ([1").replace("test_total", "test_sums") + SUM),
        (CASES + SUM, TOTAL + EMPTY),
        (CASES + SUM, CASES.replace("([], 0)", "pytest.param([], 0, id='empty')") + SUM),
        (CASES + SUM, CASES.replace("([], 0)", "([7], 7), ([], 0)") + SUM),
        (CASES + SUM, CASES.replace("[([1, 2], 3), ([], 0)]", "SUMS") + SUM + "\nSUMS = [([], 0), ([1, 2], 3)]\n"),
        (IN_CLASS, AS_FUNCTION),
        (AS_FUNCTION, IN_CLASS),
        (
            "def test_bad():\n    with pytest.raises(ValueError):\n        total(None)\n",
            "class BadTest(unittest.TestCase):\n    def test_bad(self):\n"
            "        self.assertRaises(ValueError, total, None)\n",
        ),
        ("def test_a():\n    assert total(load('data/a.json')) == 3\n",) * 2,
        (
            "def test_a():\n    assert total(load('data/a.json')) == 3\n",
            "def test_a():\n    assert total(load('cases/a.json')) == 3\n",
        ),
        (TOTAL + MORE, MORE.replace("test_more", "test_one") + TOTAL.replace("test_total", "test_two")),
    ],
)
def test_a_test_that_says_what_it_said_and_perhaps_more_needs_no_grant(before: str, after: str) -> None:
    assert set(needs(before, after).values()) == {None}


@pytest.mark.parametrize(
    ("before", "after", "intent"),
    [
        (TOTAL, TOTAL.replace("3", "4"), "rewrite"),
        (TOTAL, TOTAL.replace("test_total", "test_sum").replace("3", "4"), "remove"),
        (TOTAL, TOTAL.replace(" == 3", ""), "rewrite"),
        (TOTAL, TOTAL.replace("    assert", "    return\n    assert"), "rewrite"),
        (TOTAL, "def test_total():\n    if total:\n        assert total([1, 2]) == 3\n", "rewrite"),
        (TOTAL, "def test_total():\n    prices = 3\n    assert prices == 3\n", "rewrite"),
        (
            TOTAL,
            f"def test_total():\n    try:\n    {TOTAL.splitlines()[1]}\n    except AssertionError:\n        pass\n",
            "rewrite",
        ),
        (TOTAL, "", "remove"),
        (TOTAL, None, "remove"),
        (TOTAL, TOTAL.replace("test_total", "check_total"), "remove"),
        (TOTAL, f"@pytest.mark.skip(reason='later')\n{TOTAL}", "quarantine"),
        (TOTAL, f"@pytest.mark.xfail\n{TOTAL}", "quarantine"),
        (TOTAL, f"@pytest.mark.skip\n{TOTAL.replace('test_total', 'test_sum')}", "quarantine"),
        (CASES + SUM, CASES.replace("([], 0)", "([], 1)") + SUM, "rewrite"),
        (CASES + SUM, CASES.replace(", ([], 0)", "") + SUM, "remove"),
        (CASES + SUM, CASES.replace("([], 0)", "([5], 5)") + SUM, "rewrite"),
        (CASES + SUM, CASES.replace("([], 0)", "pytest.param([], 0, marks=pytest.mark.xfail)") + SUM, "quarantine"),
        (f"{TOTAL}{TOTAL.replace('test_total', 'test_twice')}", TOTAL, "remove"),
    ],
)
def test_a_test_that_asks_for_something_else_or_is_gone_needs_its_grant(
    before: str, after: str | None, intent: str
) -> None:
    assert [found for found in needs(before, after).values() if found] == [intent]


def test_a_test_may_move_to_another_file_of_tests_and_to_no_other() -> None:
    assert needs(TOTAL, EMPTY, changed("tests/unit/test_sums.py", None, HEAD + TOTAL)) == {"test_total": None}
    assert needs(TOTAL, None, changed("tests/unit/test_sums.py", None, HEAD + TOTAL)) == {"test_total": None}
    assert needs(TOTAL, EMPTY, changed("shop/sums.py", None, HEAD + TOTAL)) == {"test_total": "remove"}


CODE = (
    "def total(prices):\n    return sum(prices)\n\n\nclass Cart:\n    def total(self, prices):\n"
    "        return total(prices)\n\n    def clear(self):\n        self.prices = []\n\n\nFLAGS = {'old_cart': False}\n"
)


@pytest.mark.parametrize(
    ("after", "test", "name"),
    [
        (CODE.replace("def total(prices):\n    return sum(prices)\n", ""), TOTAL, ""),
        (CODE.replace("    def clear(self):\n        self.prices = []\n", ""), "clear", "shop.cart.clear"),
        (CODE.replace("        self.prices = []", "        pass"), "clear", ""),
        (CODE.replace("def clear", "def empty"), "clear", ""),
        (CODE.replace("'old_cart': False", ""), "old_cart", "shop.cart.old_cart"),
        ("def total(prices):\n    return sum(prices)\n", "clear", "shop.cart.Cart"),
        (None, "clear", "shop.cart.Cart"),
        ("try:\n    pass\nexcept ImportError:\n    class Cart:\n        pass\n", "clear", "shop.cart.clear"),
        ("for _ in [0]:\n    class Cart:\n        def clear(self):\n            pass\n", "clear", ""),
        ("from shop.old import Basket as Cart\n", "clear", ""),
        ("from shop.old import *\n", "clear", ""),
    ],
)
def test_a_test_goes_with_its_code_if_that_is_gone_and_neither_emptied_nor_renamed(
    after: str | None, test: str, name: str
) -> None:
    tests = {
        TOTAL: TOTAL,
        "clear": "def test_clear():\n    cart = Cart()\n    cart.clear()\n    assert not cart.prices\n",
        "old_cart": "def test_flag(flags):\n    assert not flags['old_cart']\n",
    }
    files = [changed("shop/cart.py", CODE, after), changed(PATH, HEAD + EMPTY + tests[test], HEAD + EMPTY)]
    (fate,) = [fate for fate in trace_tests(files) if not fate.is_same]
    assert fate.removed_name == name
    assert (fate.needs is None) == bool(name)


@pytest.mark.parametrize(
    ("grant", "is_allowed"),
    [
        ("tests/**:remove", True),
        (f"{PATH}::test_total:remove", True),
        (f"{PATH}::TestTotal:remove", False),
        ("shop.cart.total:remove", True),
        ("shop.cart.Cart:remove", False),
        (f"{PATH}:rewrite,quarantine", False),
        (PATH, False),
    ],
)
def test_a_grant_names_files_tests_or_code_and_what_may_become_of_them(grant: str, is_allowed: bool) -> None:
    evolution = TestEvolution([changed(PATH, HEAD + TOTAL, HEAD)], [parse_grant(grant)])
    assert [evolution.allows_fate(fate) for fate in evolution.fates] == [is_allowed]


MIXIN = "class SumTests:\n    def test_total(self):\n        assert self.sum([1, 2]) == 3\n"
HEIR = "\n\nclass TestList(SumTests):\n    sum = total\n"
OWN = "\n\nclass TestOwn(SumTests):\n    def test_total(self):\n        assert total([1]) == 1\n"


@pytest.mark.parametrize(
    ("heirs", "test"),
    [(HEIR + OWN, "tests.test_cart.TestList::test_total"), (OWN, "tests.test_list.TestList::test_total")],
)
def test_a_test_that_classes_inherit_has_its_grant_in_each_of_them(heirs: str, test: str) -> None:
    file = changed(PATH, HEAD + MIXIN + heirs, HEAD + MIXIN.replace("3", "4") + heirs)
    evolution = TestEvolution([file], [parse_grant(f"{PATH}::SumTests.test_total:rewrite")])
    others = ["tests.test_cart.TestOwn::test_total", "tests.test_cart.TestList::test_empty"]
    assert find_excused_tests([test, *others], evolution) == {test}


def test_a_class_that_another_file_of_the_change_imports_or_inherits_has_its_tests_as_well() -> None:
    file = changed(PATH, HEAD + MIXIN.replace("SumTests", "TestSum"), HEAD)
    heirs = changed(
        "tests/test_list.py", "from .test_cart import TestSum\n" + HEIR.replace("SumTests", "TestSum"), None
    )
    evolution = TestEvolution([file, heirs], [parse_grant(f"{PATH}::TestSum.test_total:remove")])
    tests = {f"tests.{name}::test_total" for name in ("test_cart.TestSum", "test_list.TestSum", "test_list.TestList")}
    assert find_excused_tests([*tests, "tests.test_other.TestSum::test_total"], evolution) == tests


def test_a_class_of_another_file_inherits_if_it_has_all_tests_of_the_changed_one() -> None:
    own = MIXIN.replace("SumTests", "TestSum") + "\n    def test_empty(self):\n        assert self.sum([]) == 0\n"
    file = changed(PATH, HEAD + own, HEAD + own.replace("3", "4"))
    evolution = TestEvolution([file], [parse_grant(f"{PATH}::TestSum.test_total:rewrite")])
    heir, other = "tests.test_list.TestList::test_total", "tests.test_other.TestOther::test_total"
    base = [heir, other, "tests.test_list.TestList::test_empty", "tests.test_other.TestOther::test_none"]
    assert find_excused_tests([heir, other], evolution, base) == {heir}


def test_a_missing_test_of_a_file_that_is_not_changed_can_be_granted_by_its_id() -> None:
    lost = ["bench.test_first.TestFirst::test_one[1]", "app > adds"]
    settings = changed("pyproject.toml", "", "x = 1\n")
    difference = Difference(missing_tests=tuple(lost))
    (needed,) = TestEvolution([settings], []).list_needed_grants(difference, with_failures=False)
    assert needed == parse_grant("bench/test_first.py::TestFirst.test_one:remove")
    evolution = TestEvolution([settings], [needed])
    outcomes = dict.fromkeys(lost, TestOutcome.PASSED)
    assert exclude_evolved_tests(difference, outcomes, {}, evolution).missing_tests == ("app > adds",)
