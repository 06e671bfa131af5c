"""What is wrong with a canary run, in words."""

import pytest

from orchestrator.domain.ids import TreeId
from orchestrator.domain.judging.check import Receipt, ReceiptStatus, TestOutcome
from orchestrator.judge.canary.runner import CANARY_TESTS, build_canary_injection, find_canary_doubt

PASSED, FAILED, SKIPPED = TestOutcome.PASSED, TestOutcome.FAILED, TestOutcome.SKIPPED
RIGHT = {f"canary_0::{name.replace('_', '-')}": PASSED if name == "must_pass" else FAILED for name in CANARY_TESTS}
SECOND = {test.replace("_0", "_1"): outcome for test, outcome in RIGHT.items()}


def receipt(status: ReceiptStatus = ReceiptStatus.COMPLETED, exit_code: int | None = 1, problem: str = "") -> Receipt:
    return Receipt(
        key="k",
        check="canary.0",
        command="pytest",
        tree=TreeId("t"),
        environment="e",
        status=status,
        exit_code=exit_code,
        seconds=1.0,
        problem=problem,
    )


@pytest.mark.parametrize("outcomes", [RIGHT, RIGHT | SECOND, RIGHT | {"(collection) tests.test_x": TestOutcome.ERROR}])
def test_canaries_that_end_as_they_have_to_leave_no_doubt(outcomes: dict[str, TestOutcome]) -> None:
    assert not find_canary_doubt(receipt(), outcomes, 1)


@pytest.mark.parametrize(
    ("outcomes", "said"),
    [
        ({}, "no test was reported (exit code 1)"),
        (RIGHT | {"canary_0::must-fail-by-raise": PASSED}, "the one that must fail by an exception passed"),
        (RIGHT | {"canary_0::must-fail-by-assert": SKIPPED}, "the one that must fail by `assert` was skipped"),
        (RIGHT | {"canary_0::must-pass": FAILED}, "the one that must pass failed"),
        (
            RIGHT | SECOND | {"canary_1::must-fail-by-raises": PASSED},
            "the one that must fail by `pytest.raises` passed",
        ),
        (RIGHT | {"tests.test_a::test_a": PASSED}, "an outcome came of tests.test_a::test_a, which did not run"),
        (dict([*RIGHT.items()][:-1]), "nothing was reported of the one that must fail by `pytest.approx`"),
        ({"(collection) a": TestOutcome.ERROR}, "no canary was reported"),
    ],
)
def test_what_came_otherwise_is_said(outcomes: dict[str, TestOutcome], said: str) -> None:
    assert said in find_canary_doubt(receipt(), outcomes, 1)


def test_an_exit_code_is_held_against_that_of_the_base() -> None:
    assert find_canary_doubt(receipt(exit_code=0), RIGHT, 1).startswith("the run exits with 0")
    assert not find_canary_doubt(receipt(exit_code=2), RIGHT, None)


def test_a_run_that_was_broken_off_is_told_by_its_ending() -> None:
    assert "timed-out" in find_canary_doubt(receipt(ReceiptStatus.TIMED_OUT, None), {}, 1)


def test_names_are_drawn_for_each_run_and_lead_back_to_the_same_words() -> None:
    one, other = build_canary_injection(CANARY_TESTS), build_canary_injection(CANARY_TESTS)
    assert one.before == other.before
    assert not one.names.keys() & other.names.keys()
    assert [*map(one.hide_drawn_names, one.names)] == [*map(other.hide_drawn_names, other.names)]
