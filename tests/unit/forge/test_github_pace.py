"""When GitHub is asked again, whatever its answers look like."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.forge.github.retry import GitHubRetryPolicy, RetryAdvice, find_retry_advice

NOW = datetime(2026, 11, 22, 10, 0, tzinfo=UTC)
DATE = format_datetime(NOW, usegmt=True)
RESET = str(int(NOW.timestamp()) + 90)
SLOW_DOWN = "You have exceeded a secondary rate limit."


@pytest.mark.parametrize(
    ("status", "headers", "said", "seconds"),
    [
        (403, {"retry-after": "7"}, "", 7),
        (429, {"retry-after": format_datetime(NOW + timedelta(seconds=30), usegmt=True)}, "", 30),
        (403, {}, SLOW_DOWN, 60),
        (429, {}, "", 60),
        (403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": RESET}, "API rate limit exceeded", 91),
        (429, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "soon"}, "", 60),
        (503, {"retry-after": "3"}, "", 3),
        (502, {}, "", 0),
    ],
)
def test_it_is_waited_as_long_as_github_asks_by_its_own_clock(
    status: int, headers: dict[str, str], said: str, seconds: float
) -> None:
    found = find_retry_advice(status, {"date": DATE, **headers}, said)
    assert found is not None
    assert (found.after_s, found.is_without_effect) == (seconds, status in {403, 429})


@pytest.mark.parametrize("status", [200, 201, 304, 400, 401, 403, 404, 405, 409, 422])
def test_asking_again_does_not_help_against_an_answer(status: int) -> None:
    assert find_retry_advice(status, {"date": DATE, "x-ratelimit-remaining": "4999"}, "Not allowed") is None


HEADERS = st.dictionaries(
    st.sampled_from(["retry-after", "x-ratelimit-remaining", "x-ratelimit-reset", "date"]),
    st.one_of(st.text(max_size=40), st.integers().map(str), st.datetimes().map(format_datetime)),
)


@given(st.integers(100, 599), HEADERS, st.text(max_size=80))
def test_no_answer_is_senseless_enough_to_break_the_client(status: int, headers: dict[str, str], said: str) -> None:
    found = find_retry_advice(status, headers, said)
    assert found is None or (isinstance(found, RetryAdvice) and found.after_s >= 0)


@given(st.integers(1, 60), st.floats(0, 1))
def test_pauses_grow_to_their_bound_and_never_beyond(attempt: int, chance: float) -> None:
    patience = GitHubRetryPolicy(base_s=1, cap_s=30)
    assert 0 <= patience.get_backoff_s(attempt, chance) <= min(30, 2 ** (attempt - 1))
