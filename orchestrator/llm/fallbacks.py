"""Asking another model while the usual one cannot be asked."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from orchestrator.domain.chat import Reply, Request
from orchestrator.errors import OrchestrateError, ProviderDown
from orchestrator.llm.errors import CircuitOpen, CredentialsMissing, QuotaExhausted
from orchestrator.llm.retry import OnFailure, RetryEnvironment, RetryPolicy, complete_with_retries
from orchestrator.llm.throttling.providers import ProviderRegistry, RateLimitedClient
from orchestrator.ports.model_client import ModelClient

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
