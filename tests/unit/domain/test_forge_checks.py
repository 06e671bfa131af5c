"""What checks of a forge mean together."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.judging.forge_check import (
    MAX_CHECKS,
    ForgeCheck,
    compute_checks_outcome,
    format_check_lines,
    limit_checks,
    list_check_names,
    list_failure_reasons,
)

NAMES = st.sampled_from(("lint", "types", "unit", "e2e"))
CHECKS = st.lists(st.builds(ForgeCheck, name=NAMES, state=st.sampled_from(("pending", "passed", "failed"))))
SECONDS = st.floats(0, 100)


@given(CHECKS, SECONDS, SECONDS, SECONDS, st.booleans())
def test_what_follows_from_checks(
    checks: list[ForgeCheck], waited_s: float, longest_s: float, grace_s: float, is_steady: bool
) -> None:
    told = compute_checks_outcome(checks, waited_s, longest_s=longest_s, grace_s=grace_s, is_steady=is_steady)
    states, is_over = {one.state for one in checks}, waited_s >= longest_s
    assert (told == "none") == (not checks and (is_over or waited_s >= grace_s)), "nothing is not green"
    if told == "passed":
        assert states == {"passed"}
        assert is_steady or is_over, "a forge begins some checks when others have passed"
    if told == "failed":
        assert "failed" in states
        assert "pending" not in states or is_over, "all that is red is known at once"
    if told == "late":
        assert "pending" in states
        assert "failed" not in states, "what is red is not late"
    assert (told == "waits") <= (not is_over), "nobody waits for ever"


@given(CHECKS, SECONDS, SECONDS)
def test_a_failed_check_is_never_taken_for_green_and_a_pending_one_for_neither(
    checks: list[ForgeCheck], waited_s: float, longest_s: float
) -> None:
    told = compute_checks_outcome(checks, waited_s, longest_s=longest_s, grace_s=0, is_steady=True)
    if list_failure_reasons(checks):
        assert told in {"failed", "waits"}
    elif list_check_names(checks, "pending"):
        assert told in {"late", "waits"}


@given(CHECKS, st.randoms())
def test_the_order_in_which_a_forge_tells_them_does_not_matter(checks: list[ForgeCheck], order: Random) -> None:
    mixed = list(checks)
    order.shuffle(mixed)
    assert limit_checks(mixed) == limit_checks(checks)
    assert limit_checks(limit_checks(checks)) == limit_checks(checks)


@pytest.mark.parametrize("state", ["failed", "pending"])
def test_of_very_many_checks_none_is_left_out_that_has_not_passed(state: str) -> None:
    many = [ForgeCheck(name=f"c{n}", state="passed") for n in range(MAX_CHECKS * 2)]
    odd = ForgeCheck.model_validate({"name": "z", "state": state})
    kept = limit_checks([*many, odd])
    assert len(kept) == MAX_CHECKS
    assert odd in kept


def test_words_of_a_forge_are_bounded_and_hold_no_control_characters() -> None:
    wild = ForgeCheck(name="a\x1b[31m\nb" * 200, state="failed", summary="x\x07\u202e" * 5_000, url="u\n" * 2_000)
    (kept,) = limit_checks([wild])
    assert len(kept.name) <= 200
    assert len(kept.summary) <= 1_000
    assert len(kept.url) <= 500
    assert not {"\x1b", "\x07", "\u202e"} & set(kept.name + kept.summary + kept.url)
    assert "\n" not in kept.name + kept.url
    (told,) = list_failure_reasons([kept])
    assert kept.name in told


def test_of_very_many_red_checks_every_one_is_named_and_the_words_stay_few() -> None:
    many = [ForgeCheck(name=f"c{n}", state="failed", summary="x" * 1_000) for n in range(MAX_CHECKS)]
    for told in (list_failure_reasons(many), format_check_lines(many)):
        words = "\n".join(told)
        assert all(one.name in words for one in many)
        assert len(words) < 40_000
