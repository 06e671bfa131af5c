"""The rate limit of one provider: calls at once, calls and tokens a minute, and the judge's share of it.

Nothing here reads a clock or waits: `now` is always given, in seconds that never run backwards.
"""

import math
from collections import deque
from dataclasses import dataclass

from pydantic import Field

from orchestrator.domain.frozen_model import FrozenModel

WINDOW_S = 60.0


class ProviderLimits(FrozenModel):
    """The limits of one provider: calls at once, calls and tokens in any 60 seconds (0: no limit).

    `judge_reserve` is the share of each that only the judge uses: at least one, if there is more than one.
    """

    concurrency: int = Field(8, ge=1)
    rpm: int = Field(0, ge=0)
    tpm: int = Field(0, ge=0)
    judge_reserve: float = Field(0.05, ge=0, lt=1)

    def with_room_for(self, callers: int) -> "ProviderLimits":
        """Return the limits under which so many calls may be under way beside what is kept for the judge."""
        limits = self.model_copy(update={"concurrency": callers})
        while limits.get_share(limits.concurrency, is_judge=False) < callers:
            limits = limits.model_copy(update={"concurrency": limits.concurrency + 1})
        return limits

    def get_share(self, limit: int, *, is_judge: bool) -> int:
        """Return what a caller may fill of a limit."""
        if is_judge or limit <= 1 or not self.judge_reserve:
            return limit
        return limit - min(max(1, int(limit * self.judge_reserve)), limit - 1)


@dataclass(eq=False, slots=True)
class CallStart:
    """A call that was let through: `tokens` are an estimate until it has ended."""

    at: float
    tokens: int
    is_judge: bool
    is_counted: bool = True


class RateLimiter:
    """The calls of the last minute and those under way, against the limits.

    A provider that says "too many" halves the calls at once; each answer gives a part of one back, so that a whole
    round of answers gives one call back.
    """

    def __init__(self, limits: ProviderLimits) -> None:
        self._limits = limits
        self._recent: deque[CallStart] = deque()
        self._calls = [0, 0]
        self._tokens = [0, 0]
        self._under_way = [0, 0]
        self._cap = float(limits.concurrency)
        self._cut_at = -math.inf

    @property
    def max_in_flight(self) -> int:
        """The number of calls that may be under way now."""
        return int(self._cap)

    @property
    def in_flight(self) -> int:
        """The number of calls that are under way."""
        return sum(self._under_way)

    def get_wait_s(self, now: float, tokens: int, *, is_judge: bool) -> float:
        """Return seconds until a call of `tokens` may start: 0 for now, infinity if only the end of another call helps.

        A call of more tokens than a minute allows waits for a minute without any other.
        """
        self._forget(now)
        cap = self.max_in_flight
        if self.in_flight >= cap:
            return math.inf
        if not is_judge and self._under_way[0] >= self._limits.get_share(cap, is_judge=False):
            return math.inf
        return max(
            self._room_in_s(now, self._limits.rpm, 1, self._calls, is_judge=is_judge),
            self._room_in_s(now, self._limits.tpm, tokens, self._tokens, is_judge=is_judge),
        )

    def start_call(self, now: float, tokens: int, *, is_judge: bool) -> CallStart:
        """Note that a call begins."""
        start = CallStart(now, tokens, is_judge)
        self._recent.append(start)
        self._calls[is_judge] += 1
        self._tokens[is_judge] += tokens
        self._under_way[is_judge] += 1
        return start

    def end_call(self, start: CallStart, tokens: int | None = None) -> None:
        """Note that a call is over; `tokens` is what it really took, None if nobody knows."""
        self._under_way[start.is_judge] -= 1
        if tokens is not None and start.is_counted:
            self._tokens[start.is_judge] += tokens - start.tokens
            start.tokens = tokens

    def record_answer(self) -> None:
        """Record an answer: a little more may be under way."""
        self._cap = min(float(self._limits.concurrency), self._cap + 1 / self._cap)

    def record_slowdown(self, start: CallStart, now: float) -> None:
        """Record that the provider refused a call as one too many; calls from before the last cut tell nothing new."""
        if start.at >= self._cut_at:
            self._cap = max(1.0, self._cap / 2)
            self._cut_at = now

    def _room_in_s(self, now: float, limit: int, need: int, used: list[int], *, is_judge: bool) -> float:
        """Return seconds until `need` fits under a limit: for the caller's own kind and for all together."""
        if not limit:
            return 0.0
        wait_s = self._drained_in_s(now, sum(used) + min(need, limit) - limit, used is self._tokens, everybody=True)
        if is_judge:
            return wait_s
        most = self._limits.get_share(limit, is_judge=False)
        own_s = self._drained_in_s(now, used[0] + min(need, most) - most, used is self._tokens, everybody=False)
        return max(wait_s, own_s)

    def _drained_in_s(self, now: float, excess: int, by_tokens: bool, *, everybody: bool) -> float:
        """Return seconds until calls worth `excess` have left the window."""
        if excess <= 0:
            return 0.0
        for start in self._recent:
            if everybody or not start.is_judge:
                excess -= start.tokens if by_tokens else 1
                if excess <= 0:
                    return start.at + WINDOW_S - now
        return 0.0

    def _forget(self, now: float) -> None:
        while self._recent and self._recent[0].at + WINDOW_S <= now:
            start = self._recent.popleft()
            start.is_counted = False
            self._calls[start.is_judge] -= 1
            self._tokens[start.is_judge] -= start.tokens
