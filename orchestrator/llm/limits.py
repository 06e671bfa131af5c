"""The providers of a process: who may call one now, who waits, and who is told to go elsewhere."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import datetime

from pydantic import Field

from orchestrator.config.model import ProviderSettings
from orchestrator.domain.base import Frozen
from orchestrator.domain.chat import Reply, Request
from orchestrator.domain.price import Price
from orchestrator.llm.breaker import Breaker
from orchestrator.llm.errors import CredentialsMissing, ModelError, QuotaExhausted
from orchestrator.llm.gate import Call, Gate
from orchestrator.llm.pace import Limits, Pace
from orchestrator.llm.pool import Moment, Pool, present
from orchestrator.llm.replies import estimated
from orchestrator.ports.models import ModelClient

SCRIPTED = "scripted:"


def provider_key(model: str, api_base: str | None) -> str:
    """What shares one provider's limits: `anthropic`, `openai at http://host/v1`, or `scripted:FILE`."""
    prefix = model if model.startswith(SCRIPTED) else model.split("/", 1)[0]
    return f"{prefix} at {api_base}" if api_base else prefix


class ProviderRules(Frozen):
    """What holds for the providers of a run. `judge_keys` are those that the judge may ask; None stands for all.

    `patience_s` is how long a call waits for a provider that asked not to be called.
    """

    by_key: Mapping[str, ProviderSettings] = Field(default_factory=dict)
    concurrency: int = 8
    breaker_failures: int = 5
    breaker_pause_s: float = 30.0
    patience_s: float = 900.0
    judge_keys: frozenset[str] | None = None

    def key(self, model: str, api_base: str | None) -> str:
        """The key whose limits a model falls under: its own name if that is configured, else its provider's."""
        own = f"{model} at {api_base}" if api_base else model
        return own if own in self.by_key else provider_key(model, api_base)

    def settings(self, key: str) -> ProviderSettings:
        """The settings of a key, configured or not."""
        return self.by_key.get(key, ProviderSettings())

    def limits(self, key: str) -> Limits:
        """The limits of a key; nothing is kept for a judge that never asks there."""
        found = self.settings(key)
        is_judged = self.judge_keys is None or key in self.judge_keys
        return Limits(
            concurrency=found.concurrency or self.concurrency,
            rpm=found.rpm,
            tpm=found.tpm,
            judge_reserve=found.judge_reserve if is_judged else 0,
        )


class Providers:
    """Every provider that was asked so far. All of it is in memory; `pauses` are those that an earlier process met."""

    def __init__(
        self,
        rules: ProviderRules | None = None,
        pauses: Mapping[str, datetime] | None = None,
        now: Callable[[], Moment] = present,
    ) -> None:
        self.rules = rules or ProviderRules()
        self._now = now
        self._pauses = dict(pauses or {})
        self._pools: dict[str, Pool] = {}
        self._gates: dict[str, Gate] = {}
        self._refused_keys: dict[tuple[str, str | None], str] = {}

    @asynccontextmanager
    async def call(self, request: Request, *, may_fail_over: bool = False) -> AsyncIterator[Call]:
        """Hold a place for one call; waits for it. Report to the place how the call ended.

        Raises:
            QuotaExhausted, CredentialsMissing: the provider said so before and is not asked again.
            RateLimited: it asked not to be called for longer than the rules wait.
            CircuitOpen: it does not answer, and the caller may ask somebody else meanwhile.
        """
        key = self.rules.key(request.model, request.api_base)
        if said := self._refused_keys.get((key, request.api_key_env)):
            raise CredentialsMissing(said)
        gate = self._gate(key)
        tokens = estimated(request, Reply()).tokens if self.rules.settings(key).tpm else 0
        place = await gate.enter(request.model, tokens, is_judge=request.role == "judge", may_fail_over=may_fail_over)
        try:
            yield place
        except ModelError as error:
            self._failed(key, request, gate, place, error)
            raise
        finally:
            gate.leave(place)

    def in_flight(self) -> dict[str, int]:
        """Calls under way, by key."""
        return {key: gate.pace.under_way for key, gate in self._gates.items() if gate.pace.under_way}

    def _failed(self, key: str, request: Request, gate: Gate, place: Call, error: ModelError) -> None:
        gate.failed(place, error)
        if isinstance(error, CredentialsMissing):
            self._refused_keys[key, request.api_key_env] = str(error)
        if isinstance(error, QuotaExhausted):
            gate.pool.used_up = str(error)
            error.pool = gate.pool.name
        elif error.is_transient and error.retry_after_s:
            gate.pool.pause(error.retry_after_s, self._now())
            error.pool = gate.pool.name
            error.opens_at = gate.pool.opens_at(self._now())
        if error.pool:
            for other in self._gates.values():
                if other.pool is gate.pool:
                    other.advance()

    def _gate(self, key: str) -> Gate:
        if key not in self._gates:
            pool = self._pool(self.rules.settings(key).pool or key)
            rules = self.rules
            breaker = Breaker(rules.breaker_failures, rules.breaker_pause_s)
            self._gates[key] = Gate(Pace(rules.limits(key)), breaker, pool, rules.patience_s, self._now)
        return self._gates[key]

    def _pool(self, name: str) -> Pool:
        if name not in self._pools:
            pool = self._pools[name] = Pool(name)
            if (until := self._pauses.get(name)) is not None:
                now = self._now()
                pool.pause(until.timestamp() - now.wall_s, now)
        return self._pools[name]


UNLIMITED = ProviderRules(concurrency=1_000_000)
"""For what answers without a provider."""


class LimitedClient:
    """A ModelClient that asks a provider only when it may be asked, but holds no place while its caller backs off."""

    def __init__(self, client: ModelClient, providers: Providers, *, may_fail_over: bool = False) -> None:
        self._client = client
        self._providers = providers
        self._may_fail_over = may_fail_over

    async def complete(self, request: Request) -> Reply:
        """One reply, after waiting for a place; the request's timeout does not run while it waits."""
        async with self._providers.call(request, may_fail_over=self._may_fail_over) as place:
            reply = await self._client.complete(request)
            place.took = reply.usage.tokens
            return reply

    async def check(self, model: str, api_base: str | None, api_key_env: str | None) -> str | None:
        """As the client below says."""
        return await self._client.check(model, api_base, api_key_env)

    async def price(self, model: str) -> Price | None:
        """As the client below says."""
        return await self._client.price(model)
