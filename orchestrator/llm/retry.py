"""Trying a model call again: bounded, with jittered backoff, only when the failure may pass by itself.

While the usual model cannot be asked, another one is.
"""

import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import anyio
from pydantic import Field

from orchestrator.domain.chat import Reply, Request
from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.text.durations import format_duration
from orchestrator.errors import OrchestrateError, ProviderDown
from orchestrator.llm.errors import CallTimedOut, CircuitOpen, CredentialsMissing, ModelError, QuotaExhausted
from orchestrator.llm.throttling.providers import ProviderRegistry, RateLimitedClient
from orchestrator.ports.model_client import ModelClient

OnFailure = Callable[[ModelError, int, float | None], Awaitable[None]]
"""Told of each failed try: the error, the try's number from 1, and the seconds until the next (None: there is none)."""


class RetryPolicy(FrozenModel):
    """The number and length of the tries of one call.

    A wait is drawn evenly from 0 to `base_s`, doubled with every try up to `cap_s`. A provider's own Retry-After
    comes on top of a draw from 0 to `base_s`, so that many workers do not come back as one; asking for more than
    `retry_after_cap_s` ends the tries. No wait begins that would end later than `deadline_s` after the first try.
    """

    tries: int = Field(5, ge=1)
    timeout_tries: int = Field(2, ge=1)
    base_s: float = Field(2.0, ge=0)
    cap_s: float = Field(60.0, ge=0)
    retry_after_cap_s: float = Field(900.0, ge=0)
    deadline_s: float = Field(1_800.0, gt=0)

    def get_backoff_s(self, try_no: int, draw: float) -> float:
        """Return the wait after the failed try `try_no` (from 1), for a draw from [0, 1)."""
        return draw * min(self.cap_s, self.base_s * 2.0 ** min(try_no - 1, 64))


@dataclass(frozen=True)
class RetryEnvironment:
    """The outer world of a retry: a random draw from [0, 1), waiting, and a clock in seconds."""

    draw: Callable[[], float] = random.random
    sleep: Callable[[float], Awaitable[object]] = anyio.sleep
    now: Callable[[], float] = anyio.current_time


async def complete_with_retries(
    client: ModelClient,
    request: Request,
    policy: RetryPolicy,
    on_failure: OnFailure,
    world: RetryEnvironment = RetryEnvironment(),
) -> Reply:
    """Return a reply, after as many tries as `policy` allows; `on_failure` is awaited after every failed one.

    Raises:
        ModelError: the failure will not pass by itself.
        ProviderDown: it might have, but not within the policy's bounds.
    """
    begun = world.now()
    costly_tries = 0
    try_no = 0
    while True:
        try_no += 1
        try:
            return await client.request_completion(request)
        except ModelError as error:
            costly_tries += error.is_costly
            if not error.is_transient:
                await on_failure(error, try_no, None)
                raise
            wait_s = _wait_s(error, try_no, policy, world)
            given_up = _given_up(error, try_no, costly_tries, wait_s, world.now() - begun, policy)
            if given_up:
                await on_failure(error, try_no, None)
                raise ProviderDown(f"{request.model}: {given_up}. Last failure: {error}") from error
            await on_failure(error, try_no, wait_s)
        await world.sleep(wait_s)


def _wait_s(error: ModelError, try_no: int, policy: RetryPolicy, world: RetryEnvironment) -> float:
    if error.retry_after_s is not None:
        return error.retry_after_s + world.draw() * policy.base_s
    return policy.get_backoff_s(try_no, world.draw())


def _given_up(
    error: ModelError, try_no: int, costly_tries: int, wait_s: float, elapsed_s: float, policy: RetryPolicy
) -> str | None:
    """Return why there will be no further try, in words; None when there will."""
    if error.retry_after_s is not None and error.retry_after_s > policy.retry_after_cap_s:
        opens = f"{error.opens_at.astimezone():%Y-%m-%d %H:%M:%S %z}" if error.opens_at is not None else "that time"
        return (
            f"the provider asks to wait {format_duration(error.retry_after_s)}, longer than the "
            f"{format_duration(policy.retry_after_cap_s)} that a call may wait; resume after {opens}, or with another "
            "model"
        )
    if try_no >= policy.tries:
        return f"no reply after {try_no} tries in {format_duration(elapsed_s)}; resume later"
    if error.is_costly and costly_tries >= policy.timeout_tries:
        if isinstance(error, CallTimedOut):
            return f"no reply in time after {costly_tries} tries; resume later, or raise the timeout"
        return f"no reply that can be used after {costly_tries} tries; resume later, or with another model"
    if elapsed_s + wait_s > policy.deadline_s:
        tries = f"no reply after {try_no} tries in {format_duration(elapsed_s)}"
        return f"{tries}, and the time for one call is up; resume later"
    return None


FallbackProblem = ProviderDown | CircuitOpen | QuotaExhausted | CredentialsMissing
FALLBACK_PROBLEMS = (ProviderDown, CircuitOpen, QuotaExhausted, CredentialsMissing)
"""What keeps a provider from being asked, in the order in which it passes."""

OnAnswer = Callable[[Request, Request, OrchestrateError | None], Awaitable[None]]
"""Told who answered: the usual request, the one answered, and why the model before that could not be asked."""


@dataclass(frozen=True)
class ModelCallPolicy:
    """The policy for asking models: whose limits, how many tries, and who hears of failures and of who answered."""

    providers: ProviderRegistry
    policy: RetryPolicy
    on_failure: OnFailure
    on_answer: OnAnswer
    environment: RetryEnvironment = field(default_factory=RetryEnvironment)


async def complete_with_fallbacks(client: ModelClient, requests: Sequence[Request], asking: ModelCallPolicy) -> Reply:
    """Return a reply to the first of `requests` whose provider can be asked, each with its retries.

    A provider that is closed, whatever for, is passed over without a call. If there is nobody else, those that are
    only left alone for a moment are waited for.

    Raises:
        ModelError: the request itself is at fault; nobody else is asked.
        ProviderDown, QuotaExhausted, CredentialsMissing: nobody could be asked; waiting comes before paying, and paying
            before a new key.
    """
    problems: dict[int, FallbackProblem] = {}
    many = len(requests) > 1
    for is_last_resort in (False, True) if many else (True,):
        for place, request in enumerate(requests):
            if is_last_resort and many and not isinstance(problems[place], CircuitOpen):
                continue
            try:
                reply = await _ask(client, request, asking, may_fail_over=not is_last_resort)
            except FALLBACK_PROBLEMS as problem:
                problems[place] = problem
                continue
            await asking.on_answer(requests[0], request, problems.get(place - 1))
            return reply
    raise _worst(list(problems.values()))


async def _ask(client: ModelClient, request: Request, asking: ModelCallPolicy, *, may_fail_over: bool) -> Reply:
    limited = RateLimitedClient(client, asking.providers, may_fail_over=may_fail_over)
    return await complete_with_retries(limited, request, asking.policy, asking.on_failure, asking.environment)


def _worst(problems: Sequence[FallbackProblem]) -> FallbackProblem:
    """Return the one that says what helps soonest, with the words of all."""
    if len(problems) == 1:
        return problems[0]
    first = min(problems, key=lambda problem: FALLBACK_PROBLEMS.index(type(problem)))
    return type(first)("no configured model can be asked. " + "; ".join(map(str, problems)))
