"""The door to one provider: callers wait in the order they came, each until its call may begin or never will."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import anyio

from orchestrator.llm.breaker import Breaker
from orchestrator.llm.errors import (
    CallTimedOut,
    CircuitOpen,
    ModelError,
    QuotaExhausted,
    RateLimited,
    Unavailable,
)
from orchestrator.llm.pace import Pace, Start
from orchestrator.llm.pool import Moment, Pool

LONGEST_NAP_S = 30.0
"""A waiting caller looks at the clocks at least this often: the machine may have slept."""


@dataclass(eq=False)
class Call:
    """A call that may begin. `took` is to be set to the tokens of its reply."""

    start: Start
    is_probe: bool
    took: int | None = None
    is_told: bool = False


@dataclass(eq=False)
class _Waiter:
    model: str
    tokens: int
    is_judge: bool
    may_fail_over: bool
    until: float = math.inf
    call: Call | None = None
    refusal: ModelError | None = None
    event: anyio.Event = field(default_factory=anyio.Event)

    @property
    def is_waiting(self) -> bool:
        return self.call is None and self.refusal is None


class Gate:
    """One provider's pace, breaker and pool, and who waits for them.

    The judge may pass others who wait for what is kept for it; nobody passes a judge.
    """

    def __init__(self, pace: Pace, breaker: Breaker, pool: Pool, patience_s: float, now: Callable[[], Moment]) -> None:
        self.pace = pace
        self.breaker = breaker
        self.pool = pool
        self._patience_s = patience_s
        self._now = now
        self._waiting: list[_Waiter] = []

    async def enter(self, model: str, tokens: int, *, is_judge: bool, may_fail_over: bool) -> Call:
        """Wait until a call may begin; `leave` must follow.

        Raises:
            QuotaExhausted, RateLimited, CircuitOpen: see `Providers.call`.
        """
        waiter = _Waiter(model, tokens, is_judge, may_fail_over)
        self._waiting.append(waiter)
        try:
            self.advance()
            while waiter.is_waiting:
                await self._nap(waiter)
        except BaseException:
            if waiter.call is not None:
                self.leave(waiter.call)
            elif waiter in self._waiting:
                self._waiting.remove(waiter)
                self.advance()
            raise
        if waiter.call is None:
            raise waiter.refusal or RuntimeError("a caller neither began nor was refused")
        return waiter.call

    def failed(self, call: Call, error: ModelError) -> None:
        """The call brought no reply."""
        call.is_told = True
        now_s = self._now().steady_s
        if isinstance(error, Unavailable | CallTimedOut):
            self.breaker.failed(now_s, is_probe=call.is_probe)
            return
        self.breaker.answered()
        if isinstance(error, RateLimited):
            self.pace.told_to_slow_down(call.start, now_s)

    def leave(self, call: Call) -> None:
        """The call is over, however it ended."""
        self.pace.end(call.start, call.took)
        if call.took is not None:
            self.breaker.answered()
            self.pace.answered()
        elif not call.is_told:
            self.breaker.abandoned(is_probe=call.is_probe)
        self.advance()

    def advance(self) -> None:
        """Let begin whoever may, turn away whoever waits in vain, and tell the foremost how long to wait."""
        now = self._now()
        is_closed = bool(self.pool.used_up) or self.pool.paused_s(now) > 0 or self.breaker.is_open
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
                start = self.pace.start(now.steady_s, waiter.tokens, is_judge=waiter.is_judge)
                waiter.call = Call(start, self.breaker.start())
                self._settle(waiter)

    async def _nap(self, waiter: _Waiter) -> None:
        seconds = min(waiter.until - self._now().steady_s, LONGEST_NAP_S)
        with anyio.move_on_after(max(seconds, 0)) as scope:
            await waiter.event.wait()
        waiter.event = anyio.Event()
        if scope.cancelled_caught:
            self.advance()

    def _settle(self, waiter: _Waiter) -> None:
        self._waiting.remove(waiter)
        waiter.event.set()

    def _set_alarm(self, waiter: _Waiter, until: float) -> None:
        if until != waiter.until:
            waiter.until = until
            waiter.event.set()

    def _refusal(self, waiter: _Waiter, now: Moment) -> ModelError | None:
        """Why this caller waits in vain; None if it does not."""
        error: ModelError | None = None
        paused_s = self.pool.paused_s(now)
        if self.pool.used_up:
            error = QuotaExhausted(self.pool.used_up)
        elif paused_s > self._patience_s:
            error = RateLimited(f"{waiter.model}: the provider asked not to be called for a while", paused_s)
            error.opens_at = self.pool.opens_at(now)
        elif waiter.may_fail_over and self.breaker.is_open and self.breaker.wait_s(now.steady_s):
            error = CircuitOpen(f"{waiter.model}: {self.breaker.in_a_row} calls in a row were not answered")
        if error is not None:
            error.pool = self.pool.name
        return error

    def _wait_s(self, waiter: _Waiter, now: Moment) -> float:
        return max(
            self.pool.paused_s(now),
            self.breaker.wait_s(now.steady_s),
            self.pace.wait_s(now.steady_s, waiter.tokens, is_judge=waiter.is_judge),
        )
