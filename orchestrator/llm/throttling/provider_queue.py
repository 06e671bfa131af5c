"""The door to one provider: callers wait in the order they came, each until its call may begin or never will.

A quota pool is what several models draw on together: one answer closes it for all of them.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple

import anyio

from orchestrator.llm import errors
from orchestrator.llm.throttling.circuit_breaker import CircuitBreaker
from orchestrator.llm.throttling.rate_limit import CallStart, RateLimiter

MAX_SLEEP_S = 30.0
"""A waiting caller looks at the clocks at least this often: the machine may have slept."""
MAX_PAUSE_S = 3_652 * 86_400.0


class ClockReading(NamedTuple):
    """The same moment on two clocks: Unix time, and seconds that never run backwards but may stand in a suspend."""

    wall_s: float
    steady_s: float

    def add_seconds(self, seconds: float) -> "ClockReading":
        """Return the moment after so many seconds."""
        return ClockReading(self.wall_s + seconds, self.steady_s + seconds)


def read_clocks() -> ClockReading:
    """Return the time now."""
    return ClockReading(time.time(), anyio.current_time())


class QuotaPool:
    """Open at first; paused until a moment when a provider asked for it, closed for good when its quota is used up."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.exhausted_message = ""
        """What the provider said when the quota was used up; empty while it is not."""
        self._until: ClockReading | None = None

    def pause_for(self, seconds: float, now: ClockReading) -> None:
        """Pause for at least so many seconds from now, ten years at most."""
        if seconds > self.get_pause_s(now):
            self._until = now.add_seconds(min(seconds, MAX_PAUSE_S))

    def get_pause_s(self, now: ClockReading) -> float:
        """Return seconds that the pause still lasts; 0 without one.

        Either clock ends it: a machine that slept wakes to an open pool, and a clock set back does not prolong it.
        """
        if self._until is None:
            return 0.0
        return max(0.0, min(self._until.wall_s - now.wall_s, self._until.steady_s - now.steady_s))

    def get_opening_time(self, now: ClockReading) -> datetime | None:
        """Return when the pause ends, aware UTC; None without one."""
        seconds = self.get_pause_s(now)
        if seconds:
            return datetime.fromtimestamp(now.wall_s + seconds, UTC)
        return None


@dataclass(eq=False)
class AdmittedCall:
    """A call that may begin. `took` is to be set to the tokens of its reply."""

    start: CallStart
    is_probe: bool
    reply_tokens: int | None = None
    is_failure_recorded: bool = False


@dataclass(eq=False)
class _Waiter:
    model: str
    tokens: int
    is_judge: bool
    may_fail_over: bool
    until: float = math.inf
    call: AdmittedCall | None = None
    refusal: errors.ModelError | None = None
    event: anyio.Event = field(default_factory=anyio.Event)

    @property
    def is_waiting(self) -> bool:
        return self.call is None and self.refusal is None


@dataclass(eq=False)
class ProviderQueue:
    """One provider's pace, breaker and pool, and who waits for them.

    The judge may pass others who wait for what is kept for it; nobody passes a judge.
    """

    rate_limiter: RateLimiter
    circuit_breaker: CircuitBreaker
    quota: QuotaPool
    _patience_s: float
    _now: Callable[[], ClockReading]
    _waiting: list[_Waiter] = field(default_factory=list)

    async def wait_for_admission(self, model: str, tokens: int, *, is_judge: bool, may_fail_over: bool) -> AdmittedCall:
        """Wait until a call may begin; `leave` must follow.

        Raises:
            QuotaExhausted, RateLimited, CircuitOpen: see `Providers.call`.
        """
        waiter = _Waiter(model, tokens, is_judge, may_fail_over)
        self._waiting.append(waiter)
        try:
            self.admit_waiting()
            while waiter.is_waiting:
                await self._sleep_until_change(waiter)
        except BaseException:
            if waiter.call is not None:
                self.release_call(waiter.call)
            elif waiter in self._waiting:
                self._waiting.remove(waiter)
                self.admit_waiting()
            raise
        if waiter.call is None:
            raise waiter.refusal or RuntimeError("a caller neither began nor was refused")
        return waiter.call

    def record_failure(self, call: AdmittedCall, error: errors.ModelError) -> None:
        """Record that the call brought no reply."""
        call.is_failure_recorded = True
        now_s = self._now().steady_s
        if isinstance(error, errors.Unavailable | errors.CallTimedOut):
            self.circuit_breaker.record_failure(now_s, is_probe=call.is_probe)
            return
        self.circuit_breaker.record_answer()
        if isinstance(error, errors.RateLimited):
            self.rate_limiter.record_slowdown(call.start, now_s)

    def release_call(self, call: AdmittedCall) -> None:
        """Record that the call is over, however it ended."""
        self.rate_limiter.end_call(call.start, call.reply_tokens)
        if call.reply_tokens is not None:
            self.circuit_breaker.record_answer()
            self.rate_limiter.record_answer()
        elif not call.is_failure_recorded:
            self.circuit_breaker.record_abandonment(is_probe=call.is_probe)
        self.admit_waiting()

    def admit_waiting(self) -> None:
        """Let begin whoever may, turn away whoever waits in vain, and tell the foremost how long to wait."""
        now = self._now()
        is_out = bool(self.quota.exhausted_message) or self.quota.get_pause_s(now) > 0
        is_closed = is_out or self.circuit_breaker.is_open
        blocked = judge_blocked = False
        for waiter in list(self._waiting):
            if is_closed and (refusal := self._refusal(waiter, now)):
                waiter.refusal = refusal
                self._settle(waiter)
            elif judge_blocked or (blocked and not waiter.is_judge):
                continue
            elif wait_s := self._wait_s(waiter, now):
                self._set_alarm(waiter, now.steady_s + wait_s)
                blocked = True
                judge_blocked = waiter.is_judge
            else:
                start = self.rate_limiter.start_call(now.steady_s, waiter.tokens, is_judge=waiter.is_judge)
                waiter.call = AdmittedCall(start, self.circuit_breaker.start_call())
                self._settle(waiter)

    async def _sleep_until_change(self, waiter: _Waiter) -> None:
        seconds = min(waiter.until - self._now().steady_s, MAX_SLEEP_S)
        with anyio.move_on_after(max(seconds, 0)) as scope:
            await waiter.event.wait()
        waiter.event = anyio.Event()
        if scope.cancelled_caught:
            self.admit_waiting()

    def _settle(self, waiter: _Waiter) -> None:
        self._waiting.remove(waiter)
        waiter.event.set()

    def _set_alarm(self, waiter: _Waiter, until: float) -> None:
        if until != waiter.until:
            waiter.until = until
            waiter.event.set()

    def _refusal(self, waiter: _Waiter, now: ClockReading) -> errors.ModelError | None:
        """Return why this caller waits in vain; None if it does not."""
        error: errors.ModelError | None = None
        paused_s = self.quota.get_pause_s(now)
        if self.quota.exhausted_message:
            error = errors.QuotaExhausted(self.quota.exhausted_message)
        elif paused_s > self._patience_s:
            error = errors.RateLimited(f"{waiter.model}: the provider asked not to be called for a while", paused_s)
            error.opens_at = self.quota.get_opening_time(now)
        elif waiter.may_fail_over and self.circuit_breaker.is_open and self.circuit_breaker.get_wait_s(now.steady_s):
            failures = self.circuit_breaker.failure_count
            error = errors.CircuitOpen(f"{waiter.model}: {failures} calls in a row were not answered")
        if error is not None:
            error.pool = self.quota.name
        return error

    def _wait_s(self, waiter: _Waiter, now: ClockReading) -> float:
        return max(
            self.quota.get_pause_s(now),
            self.circuit_breaker.get_wait_s(now.steady_s),
            self.rate_limiter.get_wait_s(now.steady_s, waiter.tokens, is_judge=waiter.is_judge),
        )
