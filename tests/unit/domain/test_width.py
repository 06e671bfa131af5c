"""How many workers may be at work: additive up with what lands, multiplicative down with signs of too many."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.run.width import Width, WidthCause

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_a_conflict_takes_a_share_away_and_landings_give_it_back() -> None:
    width = Width().reduce_share(WidthCause.CONFLICT, "a.py", NOW)
    assert (width.get_workers(12), width.cause, width.subject) == (9, WidthCause.CONFLICT, "a.py")
    for _ in range(6):
        width = width.raise_share()
    assert (width.get_workers(12), width.cause) == (12, None)


def test_signs_of_one_kind_count_once_in_a_while() -> None:
    width = Width().reduce_share(WidthCause.RATE_LIMIT, "m", NOW)
    assert width.reduce_share(WidthCause.RATE_LIMIT, "m", NOW + timedelta(seconds=5)) == width
    assert width.reduce_share(WidthCause.RATE_LIMIT, "m", NOW + timedelta(seconds=31)).get_workers(100) == 49
    assert width.reduce_share(WidthCause.CONFLICT, "a", NOW + timedelta(seconds=5)).get_workers(100) == 49


def test_work_that_is_sent_back_most_of_the_time_is_a_sign() -> None:
    width = Width()
    for number in range(10):
        width = width.record_verdict(number < 3, "t", NOW)
    assert (width.cause, width.get_workers(10)) == (WidthCause.REWORK, 7)


signs = st.sampled_from(["land", "conflict", "red", "through", "back"])


@given(st.lists(signs, max_size=80), st.integers(1, 64))
def test_there_is_always_one_worker_and_never_more_than_allowed(happened: list[str], allowed: int) -> None:
    width = Width()
    for number, sign in enumerate(happened):
        at = NOW + timedelta(seconds=number * 20)
        if sign == "land":
            width = width.raise_share()
        elif sign == "conflict":
            width = width.reduce_share(WidthCause.CONFLICT, "x", at)
        elif sign == "red":
            width = width.reduce_share(WidthCause.RED_TOGETHER, "x", at)
        else:
            width = width.record_verdict(sign == "through", "t", at)
        assert 1 <= width.get_workers(allowed) <= allowed
