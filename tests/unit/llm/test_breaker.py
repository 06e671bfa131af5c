"""A provider that does not answer is left alone, then tried by one call at a time."""

import math

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.llm.throttling.circuit_breaker import MAX_DOUBLINGS, CircuitBreaker


def broken(failures: int = 3, pause_s: float = 10.0) -> CircuitBreaker:
    breaker = CircuitBreaker(failures, pause_s)
    for _ in range(failures):
        breaker.record_failure(100.0, is_probe=breaker.start_call())
    return breaker


def test_it_opens_after_so_many_failures_in_a_row_and_not_before() -> None:
    breaker = CircuitBreaker(3, 10.0)
    for _ in range(5):
        breaker.record_failure(0.0, is_probe=breaker.start_call())
        breaker.record_failure(0.0, is_probe=breaker.start_call())
        assert breaker.get_wait_s(0.0) == 0
        breaker.record_answer()
    assert broken().get_wait_s(100.0) == 10


def test_one_call_probes_while_the_others_wait_and_its_answer_lets_them_all_in() -> None:
    breaker = broken()
    assert (breaker.get_wait_s(109.0), breaker.get_wait_s(110.0)) == (1, 0)
    assert breaker.start_call()
    assert breaker.get_wait_s(500.0) == math.inf
    breaker.record_answer()
    assert (breaker.get_wait_s(500.0), breaker.is_open, breaker.start_call()) == (0, False, False)


def test_a_failed_probe_doubles_the_pause_up_to_a_bound() -> None:
    breaker, now, pauses = broken(), 100.0, []
    for _ in range(7):
        pauses.append(breaker.get_wait_s(now))
        now += pauses[-1]
        breaker.record_failure(now, is_probe=breaker.start_call())
    assert pauses == [10, 20, 40, 80, 160, 160, 160]
    assert pauses[-1] == 10 * 2**MAX_DOUBLINGS


def test_a_probe_that_its_caller_breaks_off_is_repeated_by_the_next() -> None:
    breaker = broken()
    breaker.record_abandonment(is_probe=breaker.start_call())
    assert breaker.get_wait_s(110.0) == 0


def test_calls_that_began_before_it_opened_do_not_prolong_the_pause() -> None:
    breaker = broken()
    breaker.record_failure(109.0, is_probe=False)
    assert breaker.get_wait_s(109.0) == 1


@given(st.integers(1, 4), st.lists(st.sampled_from(["fail", "answer", "abandon", "wait"]), max_size=60))
def test_it_never_stays_shut_and_never_lets_two_probe(failures: int, steps: list[str]) -> None:
    breaker, now, in_a_row = CircuitBreaker(failures, 8.0), 0.0, 0
    for step in steps:
        if step == "wait" or breaker.get_wait_s(now):
            now += 4.0
            continue
        assert breaker.is_open == (in_a_row >= failures)
        is_probe = breaker.start_call()
        assert is_probe == breaker.is_open
        assert not is_probe or breaker.get_wait_s(now) == math.inf
        if step == "fail":
            breaker.record_failure(now, is_probe=is_probe)
            in_a_row += 1
        elif step == "answer":
            breaker.record_answer()
            in_a_row = 0
        else:
            breaker.record_abandonment(is_probe=is_probe)
    assert breaker.get_wait_s(now) <= 8.0 * 2**MAX_DOUBLINGS
