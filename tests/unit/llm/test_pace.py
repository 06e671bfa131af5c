"""A provider's limits hold in every minute, whatever is asked when, and nobody waits for nothing."""

import math
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.llm.throttling.rate_limit import WINDOW_S, CallStart, ProviderLimits, RateLimiter

LIMITS = st.builds(
    ProviderLimits,
    concurrency=st.integers(1, 6),
    rpm=st.sampled_from([0, 1, 2, 3, 8]),
    tpm=st.sampled_from([0, 100, 500]),
    judge_reserve=st.sampled_from([0.0, 0.05, 0.3]),
)
WISH = st.tuples(
    st.booleans(),  # is it the judge's
    st.integers(0, 700),  # tokens by estimate
    st.integers(0, 900),  # tokens really
    st.integers(0, 25),  # seconds before it is wished for
    st.integers(0, 90),  # seconds that it takes
    st.sampled_from(["answered", "limited", "cancelled"]),
)


class Provider:
    """Carries out wishes one after the other in a world where only this clock runs, checking every start."""

    def __init__(self, limits: ProviderLimits) -> None:
        self.limits = limits
        self.pace = RateLimiter(limits)
        self.now = 0.0
        self.under_way: list[tuple[float, CallStart, int, str]] = []
        self.starts: list[CallStart] = []

    def pass_time(self, until: float) -> None:
        """Let calls end that end before `until`."""
        for ended in sorted((call for call in self.under_way if call[0] <= until), key=lambda call: call[0]):
            at, start, real, outcome = ended
            self.under_way.remove(ended)
            self.pace.end_call(start, real if outcome == "answered" else None)
            if outcome == "answered":
                self.pace.record_answer()
            if outcome == "limited":
                self.pace.record_slowdown(start, at)
        self.now = until

    def carry_out(self, is_judge: bool, tokens: int, real: int, seconds: int, outcome: str) -> None:
        while wait_s := self.pace.get_wait_s(self.now, tokens, is_judge=is_judge):
            if math.isinf(wait_s):
                assert self.under_way, "nobody could ever end this wait"
                self.pass_time(min(call[0] for call in self.under_way))
            else:
                assert 0 < wait_s <= WINDOW_S
                nearest = min((call[0] for call in self.under_way), default=math.inf)
                self.pass_time(min(self.now + wait_s, nearest))
        self.check(is_judge, tokens)
        start = self.pace.start_call(self.now, tokens, is_judge=is_judge)
        self.starts.append(start)
        self.under_way.append((self.now + seconds, start, real, outcome))

    def check(self, is_judge: bool, tokens: int) -> None:
        """What holds when a call starts."""
        recent = [start for start in self.starts if start.at > self.now - WINDOW_S]
        for limit, used, need in (
            (self.limits.rpm, len, 1),
            (self.limits.tpm, lambda starts: sum(start.tokens for start in starts), tokens),
        ):
            own = [start for start in recent if not start.is_judge]
            for starts, most in ((recent, limit), (own, self.limits.get_share(limit, is_judge=False))):
                if limit and (starts is recent or not is_judge):
                    assert used(starts) + need <= most or used(starts) == 0
        workers = sum(not call[1].is_judge for call in self.under_way)
        assert len(self.under_way) < self.pace.max_in_flight <= self.limits.concurrency
        assert is_judge or workers < self.limits.get_share(self.pace.max_in_flight, is_judge=False)


@settings(max_examples=200)
@given(LIMITS, st.lists(WISH, min_size=5, max_size=25))
def test_limits_hold_in_every_minute_and_every_wish_is_granted(
    limits: ProviderLimits, wishes: list[tuple[bool, int, int, int, int, str]]
) -> None:
    provider = Provider(limits)
    for is_judge, tokens, real, gap, seconds, outcome in wishes:
        provider.pass_time(provider.now + gap)
        provider.carry_out(is_judge, tokens, real, seconds, outcome)
    assert len(provider.starts) == len(wishes)
    provider.pass_time(math.inf)
    assert provider.pace.in_flight == 0


@given(st.integers(1, 1_000), st.floats(0, 0.99))
def test_something_is_left_for_everybody(limit: int, share: float) -> None:
    limits = ProviderLimits(judge_reserve=share)
    left = limits.get_share(limit, is_judge=False)
    assert 1 <= left <= limit == limits.get_share(limit, is_judge=True)
    assert (left < limit) == (limit > 1 and share > 0)


def test_too_many_requests_halve_the_calls_at_once_only_once_for_a_round_and_answers_bring_them_back() -> None:
    pace = RateLimiter(ProviderLimits(concurrency=8))
    round_one = [pace.start_call(float(n), 0, is_judge=True) for n in range(8)]
    for start in round_one:
        pace.record_slowdown(start, 10.0)
        pace.end_call(start)
    assert pace.max_in_flight == 4
    pace.record_slowdown(pace.start_call(11.0, 0, is_judge=True), 12.0)
    assert pace.max_in_flight == 2
    sizes = [pace.max_in_flight]
    for _ in range(40):
        pace.record_answer()
        sizes.append(pace.max_in_flight)
    assert sizes[-1] == 8
    assert all(0 <= later - sooner <= 1 for sooner, later in pairwise(sizes))
    assert sizes.count(4) >= 4, "a whole round of answers gives one call back"


@pytest.mark.parametrize(("really", "wait_s"), [(10, 0.0), (100, 50.0)])
def test_an_estimate_is_set_right_by_what_the_call_took(really: int, wait_s: float) -> None:
    pace = RateLimiter(ProviderLimits(tpm=100, judge_reserve=0))
    pace.end_call(pace.start_call(0.0, 90, is_judge=False), really)
    assert pace.get_wait_s(10.0, 50, is_judge=False) == wait_s
