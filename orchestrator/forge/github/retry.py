"""The rules for asking GitHub again: after what, and how long to wait. Pure: time and chance are given."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_TOO_MANY = 429
_LIMITING = (403, _TOO_MANY)
_FAILING = (500, 502, 503, 504)
_MINUTE_S = 60.0
"""What GitHub asks clients to wait at least, where it limits them and does not say how long."""
_MARGIN_S = 1.0


@dataclass(frozen=True)
class GitHubRetryPolicy:
    """The number of tries of one request, the pauses where GitHub names none, and the longest wait.

    Attributes:
        tries: of one request, the first included.
        base_s: the first pause is up to so long; it doubles each time.
        cap_s: and grows to this.
        longest_s: all pauses of one request together. A limit that lasts longer ends the run, resumably.
    """

    tries: int = 6
    base_s: float = 1.0
    cap_s: float = 30.0
    max_total_wait_s: float = 900.0

    def get_backoff_s(self, attempt: int, chance: float) -> float:
        """Return the pause after so many tries, with full jitter; `chance` is from 0 to 1."""
        return float(min(self.cap_s, self.base_s * 2 ** (attempt - 1)) * chance)


IMPATIENT_POLICY = GitHubRetryPolicy(tries=2, max_total_wait_s=5.0)
"""For whoever only wants to know whether GitHub answers."""


@dataclass(frozen=True)
class RetryAdvice:
    """That a request is to be made again: after so many seconds at least, and why.

    `is_undone` says that GitHub certainly did not do what was asked.
    """

    after_s: float
    why: str
    is_without_effect: bool


def find_retry_advice(status: int, headers: Mapping[str, str], said: str) -> RetryAdvice | None:
    """Return what an answer of this status asks for; None if asking again would change nothing.

    Args:
        status: the HTTP status.
        headers: names in lower case.
        said: GitHub's own words.
    """
    if status in _LIMITING and (limit := _limit(status, headers, said)):
        return limit
    if status in _FAILING:
        return RetryAdvice(_parse_wait_s(headers) or 0.0, f"{status} {said}".strip(), is_without_effect=False)
    return None


def _limit(status: int, headers: Mapping[str, str], said: str) -> RetryAdvice | None:
    """Return a 403 is a limit only if it says so in one of three ways; all others forbid something."""
    asked = _parse_wait_s(headers)
    if headers.get("x-ratelimit-remaining") == "0":
        wait_s = max(asked or 0.0, _until_reset(headers))
        return RetryAdvice(wait_s, "its rate limit is used up", is_without_effect=True)
    if asked is not None or status == _TOO_MANY or "secondary rate limit" in said.lower():
        wait_s = _MINUTE_S if asked is None else asked
        return RetryAdvice(wait_s, "it limits how fast it is asked", is_without_effect=True)
    return None


def _parse_wait_s(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that `Retry-After` asks for, which may be written as a date."""
    given = headers.get("retry-after", "").strip()
    if given.isascii() and given.isdigit():
        return float(given)
    until = _date(given)
    return _between(headers, until) if until is not None else None


def _until_reset(headers: Mapping[str, str]) -> float:
    given = headers.get("x-ratelimit-reset", "")
    if not (given.isascii() and given.isdigit()) or len(given) > 11:
        return _MINUTE_S
    return _between(headers, datetime.fromtimestamp(int(given), UTC)) + _MARGIN_S


def _between(headers: Mapping[str, str], until: datetime) -> float:
    """Return the seconds between two times by GitHub's clock, which this machine's may not agree with."""
    now = _date(headers.get("date", ""))
    return max(0.0, (until - now).total_seconds()) if now is not None else _MINUTE_S


def _date(text: str) -> datetime | None:
    try:
        found = parsedate_to_datetime(text)
    except (TypeError, ValueError, IndexError):
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
