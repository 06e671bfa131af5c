"""A provider's slots bound how many calls are under way."""

import anyio
import pytest

from orchestrator.domain.chat import Reply, Request
from orchestrator.llm.limits import LimitedClient, ProviderLimits, provider_key
from tests.loopback.builders import request


class Gauge:
    """A client that notes how many calls are inside it at once."""

    def __init__(self) -> None:
        self.inside = 0
        self.peak = 0
        self.order: list[str] = []

    async def complete(self, request: Request) -> Reply:
        self.inside += 1
        self.peak = max(self.peak, self.inside)
        self.order.append(request.task)
        await anyio.lowlevel.checkpoint()
        await anyio.lowlevel.checkpoint()
        self.inside -= 1
        if request.task == "broken":
            raise ConnectionError
        return Reply()

    async def check(self, model: str, api_base: str | None, api_key_env: str | None) -> str | None:
        return f"{model}: checked"


@pytest.mark.parametrize(
    ("model", "api_base", "key"),
    [
        ("anthropic/claude-sonnet-4-5", None, "anthropic"),
        ("openai/local", "http://localhost:8000/v1", "openai at http://localhost:8000/v1"),
        ("gpt-4o", None, "gpt-4o"),
        ("scripted:plays/one.toml", None, "scripted:plays/one.toml"),
    ],
)
def test_models_of_one_provider_share_a_key(model: str, api_base: str | None, key: str) -> None:
    assert provider_key(model, api_base) == key


async def test_no_more_calls_than_slots_are_under_way_and_they_keep_their_order() -> None:
    gauge = Gauge()
    client = LimitedClient(gauge, ProviderLimits(default=3))
    async with anyio.create_task_group() as group:
        for n in range(20):
            group.start_soon(client.complete, request(task=f"t{n}"))
    assert gauge.peak == 3
    assert gauge.order == [f"t{n}" for n in range(20)]


async def test_providers_do_not_wait_for_each_other_and_may_have_their_own_number() -> None:
    gauge = Gauge()
    limits = ProviderLimits(default=1, by_key={"anthropic": 2})
    client = LimitedClient(gauge, limits)
    async with anyio.create_task_group() as group:
        for n in range(6):
            group.start_soon(client.complete, request(task=f"a{n}", model="anthropic/x"))
            group.start_soon(client.complete, request(task=f"b{n}", model="openai/x"))
    assert gauge.peak == 3
    assert limits.in_flight() == {}


async def test_a_failed_or_cancelled_call_gives_its_slot_back() -> None:
    limits = ProviderLimits(default=1)
    client = LimitedClient(Gauge(), limits)
    with pytest.raises(ConnectionError):
        await client.complete(request(task="broken"))
    with anyio.CancelScope() as scope:
        scope.cancel()
        await client.complete(request())
    assert limits.in_flight() == {}
    assert await client.complete(request()) == Reply()


async def test_a_slot_is_held_while_the_call_is_under_way() -> None:
    limits = ProviderLimits()
    async with limits.slot("anthropic"), limits.slot("anthropic"):
        assert limits.in_flight() == {"anthropic": 2}


async def test_checking_needs_no_slot() -> None:
    assert await LimitedClient(Gauge(), ProviderLimits(default=1)).check("a/b", None, None) == "a/b: checked"
