"""A pool that was told to pause opens again at its time, whatever the clocks of the machine do."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.llm.throttling.provider_queue import ClockReading, QuotaPool

BEGIN = ClockReading(1_700_000_000.0, 50.0)


def paused(*seconds: float) -> QuotaPool:
    pool = QuotaPool("openai")
    for each in seconds:
        pool.pause_for(each, BEGIN)
    return pool


@given(st.lists(st.integers(0, 10**7), min_size=1, max_size=5), st.integers(0, 10**7))
def test_the_longest_pause_holds(spans: list[int], later_s: int) -> None:
    assert paused(*spans).get_pause_s(BEGIN.add_seconds(later_s)) == max(0, max(spans) - later_s)


def test_a_machine_that_slept_wakes_to_an_open_pool() -> None:
    assert paused(3_600).get_pause_s(ClockReading(BEGIN.wall_s + 3_600, BEGIN.steady_s + 5)) == 0


def test_a_clock_that_is_set_back_does_not_prolong_a_pause() -> None:
    assert paused(60).get_pause_s(ClockReading(BEGIN.wall_s - 86_400, BEGIN.steady_s + 60)) == 0


def test_it_says_when_it_opens() -> None:
    assert paused(100.0).get_opening_time(BEGIN.add_seconds(40)) == datetime.fromtimestamp(1_700_000_100, UTC)
    assert paused(100.0).get_opening_time(BEGIN.add_seconds(100)) is None


def test_a_senseless_pause_has_an_end_that_can_be_told() -> None:
    opens = paused(1e15).get_opening_time(BEGIN)
    assert opens is not None
    assert opens.year == 2033
