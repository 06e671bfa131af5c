"""The providers of a process: who may call one now, who waits, and who is told to go elsewhere."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime

from pydantic import Field

from orchestrator.config.model import ProviderSettings
from orchestrator.domain.budget.price import Price
from orchestrator.domain.chat import Reply, Request
from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.llm.errors import CredentialsMissing, ModelError, QuotaExhausted
from orchestrator.llm.litellm_adapter.message_conversion import estimate_reply_usage
from orchestrator.llm.scripted_model.script import SCRIPTED_PREFIX
from orchestrator.llm.throttling.circuit_breaker import CircuitBreaker
from orchestrator.llm.throttling.provider_queue import AdmittedCall, ClockReading, ProviderQueue, QuotaPool, read_clocks
from orchestrator.llm.throttling.rate_limit import ProviderLimits, RateLimiter
from orchestrator.ports.model_client import ModelClient


def get_provider_key(model: str, api_base: str | None) -> str:
    """Return what shares one provider's limits: `anthropic`, `openai at http://host/v1`, or `scripted:FILE`."""
    prefix = model if model.startswith(SCRIPTED_PREFIX) else model.split("/", 1)[0]
    return _name_endpoint(prefix, api_base)


def _name_endpoint(name: str, api_base: str | None) -> str:
    return f"{name} at {api_base}" if api_base else name


class ProviderRules(FrozenModel):
    """The rules for the providers of a run. `judge_keys` are those that the judge may ask; None stands for all.

    `concurrency` bounds the calls under way at each provider. Where it is 0, there is room for `callers` that are not
    the judge, and for the judge's share on top. `patience_s` is how long a call waits for a provider that asked not to
    be called.
    """

    by_key: Mapping[str, ProviderSettings] = Field(default_factory=dict)
    concurrency: int = 8
    callers: int = 8
    breaker_failures: int = 5
    breaker_pause_s: float = 30.0
    patience_s: float = 900.0
    judge_keys: frozenset[str] | None = None

    def get_limits_key(self, model: str, api_base: str | None) -> str:
        """Return the key whose limits a model falls under: its own name if that is configured, else its provider's."""
        own = _name_endpoint(model, api_base)
        if own in self.by_key:
            return own
        return get_provider_key(model, api_base)

    def get_settings(self, key: str) -> ProviderSettings:
        """Return the settings of a key, configured or not."""
        return self.by_key.get(key, ProviderSettings())

    def get_limits(self, key: str) -> ProviderLimits:
        """Return the limits of a key; nothing is kept for a judge that never asks there."""
        found = self.get_settings(key)
        is_judged = self.judge_keys is None or key in self.judge_keys
        limits = ProviderLimits(rpm=found.rpm, tpm=found.tpm, judge_reserve=found.judge_reserve if is_judged else 0)
        concurrency = found.concurrency or self.concurrency
        if concurrency:
            return limits.model_copy(update={"concurrency": concurrency})
        return limits.with_room_for(self.callers)


@dataclass(eq=False)
class ProviderRegistry:
    """Every provider that was asked so far. All of it is in memory; `pauses` are those that an earlier process met."""

    rules: ProviderRules = field(default_factory=ProviderRules)
    pauses: Mapping[str, datetime] = field(default_factory=dict)
    now: Callable[[], ClockReading] = read_clocks
    _pools: dict[str, QuotaPool] = field(default_factory=dict)
    _gates: dict[str, ProviderQueue] = field(default_factory=dict)
    _refused_keys: dict[tuple[str, str | None], str] = field(default_factory=dict)

    @asynccontextmanager
    async def admit_call(self, request: Request, *, may_fail_over: bool = False) -> AsyncIterator[AdmittedCall]:
        """Hold a place for one call; waits for it. Report to the place how the call ended.

        Raises:
            QuotaExhausted, CredentialsMissing: the provider said so before and is not asked again.
            RateLimited: it asked not to be called for longer than the rules wait.
            CircuitOpen: it does not answer, and the caller may ask somebody else meanwhile.
        """
        key = self.rules.get_limits_key(request.model, request.api_base)
        if said := self._refused_keys.get((key, request.api_key_env)):
            raise CredentialsMissing(said)
        gate = self._gate(key)
        tokens = estimate_reply_usage(request, Reply()).tokens if self.rules.get_settings(key).tpm else 0
        is_judge = request.role == "judge"
        place = await gate.wait_for_admission(request.model, tokens, is_judge=is_judge, may_fail_over=may_fail_over)
        try:
            yield place
        except ModelError as error:
            self._record_failure(key, request, gate, place, error)
            raise
        finally:
            gate.release_call(place)

    def count_in_flight(self) -> dict[str, int]:
        """Return calls under way, by key."""
        return {key: gate.rate_limiter.in_flight for key, gate in self._gates.items() if gate.rate_limiter.in_flight}

    def _record_failure(
        self, key: str, request: Request, gate: ProviderQueue, place: AdmittedCall, error: ModelError
    ) -> None:
        gate.record_failure(place, error)
        if isinstance(error, CredentialsMissing):
            self._refused_keys[key, request.api_key_env] = str(error)
        if isinstance(error, QuotaExhausted):
            gate.quota.exhausted_message = str(error)
            error.pool = gate.quota.name
        elif error.is_transient and error.retry_after_s:
            gate.quota.pause_for(error.retry_after_s, self.now())
            error.pool = gate.quota.name
            error.opens_at = gate.quota.get_opening_time(self.now())
        if error.pool:
            for other in self._gates.values():
                if other.quota is gate.quota:
                    other.admit_waiting()

    def _gate(self, key: str) -> ProviderQueue:
        if key not in self._gates:
            rules, pool = self.rules, self._pool(self.rules.get_settings(key).pool or key)
            breaker = CircuitBreaker(rules.breaker_failures, rules.breaker_pause_s)
            limiter = RateLimiter(rules.get_limits(key))
            self._gates[key] = ProviderQueue(limiter, breaker, pool, rules.patience_s, self.now)
        return self._gates[key]

    def _pool(self, name: str) -> QuotaPool:
        if name not in self._pools:
            pool = self._pools[name] = QuotaPool(name)
            if (until := self.pauses.get(name)) is not None:
                now = self.now()
                pool.pause_for(until.timestamp() - now.wall_s, now)
        return self._pools[name]


UNLIMITED_RULES = ProviderRules(concurrency=1_000_000)
"""For what answers without a provider."""


class RateLimitedClient:
    """A ModelClient that asks a provider only when it may be asked, but holds no place while its caller backs off."""

    def __init__(self, client: ModelClient, providers: ProviderRegistry, *, may_fail_over: bool = False) -> None:
        self._client = client
        self._providers = providers
        self._may_fail_over = may_fail_over

    async def request_completion(self, request: Request) -> Reply:
        """Return one reply, after waiting for a place; the request's timeout does not run while it waits."""
        async with self._providers.admit_call(request, may_fail_over=self._may_fail_over) as place:
            reply = await self._client.request_completion(request)
            place.reply_tokens = reply.usage.tokens
            return reply

    async def find_model_problem(self, model: str, api_base: str | None, api_key_env: str | None) -> str | None:
        """Return what the client below says."""
        return await self._client.find_model_problem(model, api_base, api_key_env)

    async def find_price(self, model: str) -> Price | None:
        """Return what the client below says."""
        return await self._client.find_price(model)
