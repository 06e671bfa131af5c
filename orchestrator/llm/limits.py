"""How many calls may be under way at one provider at once; what else bounds a provider's load belongs here too."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import anyio

from orchestrator.domain.chat import Reply, Request
from orchestrator.domain.price import Price
from orchestrator.ports.models import ModelClient

DEFAULT_CONCURRENCY = 8


def provider_key(model: str, api_base: str | None) -> str:
    """What shares one provider's limits: `anthropic`, `openai at http://host/v1`, or `scripted:FILE`."""
    prefix = model if model.startswith("scripted:") else model.split("/", 1)[0]
    return f"{prefix} at {api_base}" if api_base else prefix


class ProviderLimits:
    """Slots per provider; calls wait in the order they came."""

    def __init__(self, default: int = DEFAULT_CONCURRENCY, by_key: Mapping[str, int] | None = None) -> None:
        """`by_key` overrides `default` for the keys that `provider_key` makes."""
        self._default = default
        self._by_key = dict(by_key or {})
        self._limiters: dict[str, anyio.CapacityLimiter] = {}

    @asynccontextmanager
    async def slot(self, key: str) -> AsyncIterator[None]:
        """Hold one of the provider's slots; waits for one."""
        limiter = self._limiter(key)
        borrower = object()
        await limiter.acquire_on_behalf_of(borrower)
        try:
            yield
        finally:
            limiter.release_on_behalf_of(borrower)

    def in_flight(self) -> dict[str, int]:
        """Calls under way, by provider key."""
        return {key: limiter.borrowed_tokens for key, limiter in self._limiters.items() if limiter.borrowed_tokens}

    def _limiter(self, key: str) -> anyio.CapacityLimiter:
        if key not in self._limiters:
            self._limiters[key] = anyio.CapacityLimiter(self._by_key.get(key, self._default))
        return self._limiters[key]


class LimitedClient:
    """A ModelClient that holds a provider's slot during each try, but not while its caller waits to try again."""

    def __init__(self, client: ModelClient, limits: ProviderLimits) -> None:
        self._client = client
        self._limits = limits

    async def complete(self, request: Request) -> Reply:
        """One reply, after waiting for a slot; the request's timeout does not run while it waits."""
        async with self._limits.slot(provider_key(request.model, request.api_base)):
            return await self._client.complete(request)

    async def check(self, model: str, api_base: str | None, api_key_env: str | None) -> str | None:
        """As the client below says."""
        return await self._client.check(model, api_base, api_key_env)

    async def price(self, model: str) -> Price | None:
        """As the client below says."""
        return await self._client.price(model)
