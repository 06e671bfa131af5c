"""Tests that move to another file: only where the plan grants it, under the same name, one for one, and no worse."""

import pytest

from orchestrator.domain.judging.check import TestOutcome as Outcome
from orchestrator.judge.files.grants import build_grant_matcher
from orchestrator.judge.gate.changed_test_ids import exclude_moved_tests
from orchestrator.judge.gate.difference import compare_outcomes

P, F, E, S, XF, XP = Outcome
OLD = "tests.test_money.TestMoney::test_add[1]"
NEW = "tests.money.test_money.TestMoney::test_add[1]"
GRANTS = ("tests/test_money.py", "tests/money/**")


def missing(before: dict[str, Outcome], now: dict[str, Outcome], *grants: str) -> tuple[str, ...]:
    stays = {"tests.test_a::test_a": P}
    before, now = before | stays, now | stays
    return exclude_moved_tests(
        compare_outcomes(before, 0, now, 0), before, now, build_grant_matcher(grants)
    ).missing_tests


def test_a_test_that_moved_is_not_missing_where_the_plan_let_it_move() -> None:
    assert missing({OLD: P}, {NEW: P}, *GRANTS) == ()
    assert missing({OLD: P}, {NEW: P}) == missing({OLD: P}, {NEW: P}, "tests/money/**") == (OLD,)


@pytest.mark.parametrize(
    "new",
    [
        "tests.money.test_money.TestMoney::test_add[2]",
        "tests.money.test_money.TestOther::test_add[1]",
        "tests.money.test_money.TestMoney::test_add",
    ],
)
def test_under_another_name_it_is_another_test(new: str) -> None:
    assert missing({OLD: P}, {new: P}, *GRANTS) == (OLD,)


def test_one_new_test_stands_for_one_old_one() -> None:
    before = {"tests.test_money::test_x": P, "tests.test_more::test_x": P}
    now = {"tests.money.test_all::test_x": P}
    assert missing(before, now, "tests/**") == ("tests.test_more::test_x",)
    assert missing(before, now | {"tests.money.test_b::test_x": P}, "tests/**") == ()


@pytest.mark.parametrize(
    ("was", "is_", "gone"), [(P, S, True), (P, XF, True), (S, S, False), (XF, XF, False), (F, P, False)]
)
def test_it_may_do_no_less_than_before(was: Outcome, is_: Outcome, gone: bool) -> None:
    assert missing({OLD: was}, {NEW: is_}, *GRANTS) == ((OLD,) if gone else ())


def test_a_test_that_was_there_before_stands_for_no_other() -> None:
    before = {OLD: P, NEW: P}
    assert missing(before, {NEW: P}, *GRANTS) == (OLD,)
