"""Who may call a provider now, who waits, and who is sent elsewhere."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import anyio
import pytest

from orchestrator.config.model import ProviderSettings
from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.chat import Reply, Request
from orchestrator.llm.errors import (
    CircuitOpen,
    CredentialsMissing,
    ModelError,
    QuotaExhausted,
    RateLimited,
    Unavailable,
)
from orchestrator.llm.throttling.provider_queue import ClockReading, read_clocks
from orchestrator.llm.throttling.providers import ProviderRegistry, ProviderRules, RateLimitedClient, get_provider_key
from tests.loopback.builders import request

OTHER = "openai/other"


class Gauge:
    """A client that notes how many calls are inside it at once, and fails as it is told."""

    def __init__(self, *failures: ModelError | None) -> None:
        self.inside = 0
        self.peak = 0
        self.order: list[str] = []
        self.failures = list(failures)
        self.gate = anyio.Event()
        self.gate.set()

    async def request_completion(self, request: Request) -> Reply:
        self.inside += 1
        self.peak = max(self.peak, self.inside)
        self.order.append(request.task)
        failure = self.failures.pop(0) if self.failures else None
        try:
            await anyio.lowlevel.checkpoint()
            await self.gate.wait()
        finally:
            self.inside -= 1
        if failure is not None:
            raise failure
        return Reply(usage=Usage(calls=1, input_tokens=10))

    async def find_model_problem(self, model: str, api_base: str | None, api_key_env: str | None) -> str | None:
        return f"{model}: checked"


class Shifted:
    """The clocks of this machine, moved on by hand."""

    def __init__(self) -> None:
        self.by_s = 0.0

    def __call__(self) -> ClockReading:
        return read_clocks().add_seconds(self.by_s)


def rules(concurrency: int = 8, **fields: object) -> ProviderRules:
    return ProviderRules.model_validate({"concurrency": concurrency, "judge_keys": frozenset(), **fields})


def limited(client: Gauge, providers: ProviderRegistry, *, may_fail_over: bool = False) -> RateLimitedClient:
    return RateLimitedClient(client, providers, may_fail_over=may_fail_over)


async def fail(client: RateLimitedClient, times: int = 1, **fields: object) -> ModelError:
    for _ in range(times):
        with pytest.raises(ModelError) as failure:
            await client.request_completion(request(**fields))
    return failure.value


async def all_at_once(client: RateLimitedClient, requests: Sequence[Request]) -> None:
    async with anyio.create_task_group() as group:
        for each in requests:
            group.start_soon(client.request_completion, each)


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
    assert get_provider_key(model, api_base) == ProviderRules().get_limits_key(model, api_base) == key


def test_a_model_that_is_configured_by_its_whole_name_has_limits_of_its_own() -> None:
    found = ProviderRules(by_key={"openai/small": ProviderSettings(rpm=5), "openai": ProviderSettings(rpm=9)})
    assert [found.get_limits(found.get_limits_key(model, None)).rpm for model in ("openai/small", "openai/large")] == [
        5,
        9,
    ]


async def test_no_more_calls_than_allowed_are_under_way_and_they_keep_their_order() -> None:
    gauge = Gauge()
    await all_at_once(limited(gauge, ProviderRegistry(rules(3))), [request(task=f"t{n}") for n in range(20)])
    assert gauge.peak == 3
    assert gauge.order == [f"t{n}" for n in range(20)]


async def test_providers_do_not_wait_for_each_other_and_may_have_their_own_number() -> None:
    gauge = Gauge()
    providers = ProviderRegistry(rules(1, by_key={"anthropic": {"concurrency": 2}}))
    requests = [request(task=f"{model}{n}", model=f"{model}/x") for n in range(6) for model in ("anthropic", "openai")]
    await all_at_once(limited(gauge, providers), requests)
    assert gauge.peak == 3
    assert providers.count_in_flight() == {}


async def test_the_judge_finds_a_place_while_workers_fill_the_rest() -> None:
    gauge = Gauge()
    gauge.gate = anyio.Event()
    client = limited(gauge, ProviderRegistry(rules(3, judge_keys=frozenset({"openai"}))))
    async with anyio.create_task_group() as group:
        for n in range(9):
            group.start_soon(client.request_completion, request(task=f"w{n}"))
        await anyio.wait_all_tasks_blocked()
        assert gauge.order == ["w0", "w1"]
        group.start_soon(client.request_completion, request(role="judge", model="openai/x", task="j"))
        await anyio.wait_all_tasks_blocked()
        assert gauge.order == ["w0", "w1", "j"]
        gauge.gate.set()
    assert len(gauge.order) == 10


async def test_nothing_is_kept_for_a_judge_who_asks_elsewhere() -> None:
    gauge = Gauge()
    client = limited(gauge, ProviderRegistry(rules(3, judge_keys=frozenset({"anthropic"}))))
    await all_at_once(client, [request(task=f"t{n}") for n in range(9)])
    assert gauge.peak == 3


async def test_a_failed_or_cancelled_call_gives_its_place_back() -> None:
    providers = ProviderRegistry(rules(1))
    client = limited(Gauge(RateLimited("later")), providers)
    await fail(client)
    with anyio.CancelScope() as scope:
        scope.cancel()
        await client.request_completion(request())
    assert providers.count_in_flight() == {}
    assert (await client.request_completion(request())).usage.calls == 1


async def test_callers_who_give_up_waiting_leave_the_queue_in_order() -> None:
    gauge = Gauge()
    gauge.gate = anyio.Event()
    providers = ProviderRegistry(rules(1))
    client = limited(gauge, providers)
    async with anyio.create_task_group() as group, anyio.create_task_group() as impatient:
        group.start_soon(client.request_completion, request(task="first"))
        await anyio.wait_all_tasks_blocked()
        for n in range(3):
            impatient.start_soon(client.request_completion, request(task=f"gone{n}"))
        await anyio.wait_all_tasks_blocked()
        group.start_soon(client.request_completion, request(task="second"))
        await anyio.wait_all_tasks_blocked()
        impatient.cancel_scope.cancel()
        gauge.gate.set()
    assert gauge.order == ["first", "second"]
    assert providers.count_in_flight() == {}


async def test_a_minute_that_is_full_is_waited_for() -> None:
    clock, gauge = Shifted(), Gauge()
    client = limited(gauge, ProviderRegistry(rules(by_key={"openai": {"rpm": 2}}), now=clock))
    async with anyio.create_task_group() as group:
        for n in range(3):
            group.start_soon(client.request_completion, request(task=f"t{n}"))
        await anyio.wait_all_tasks_blocked()
        assert gauge.order == ["t0", "t1"]
        clock.by_s = 60.0
        group.start_soon(client.request_completion, request(task="t3"))
    assert sorted(gauge.order) == ["t0", "t1", "t2", "t3"]


async def test_tokens_are_booked_as_the_reply_counts_them() -> None:
    clock, gauge = Shifted(), Gauge()
    client = limited(gauge, ProviderRegistry(rules(by_key={"openai": {"tpm": 25}}), now=clock))
    with anyio.fail_after(120):
        for n in range(2):  # each is estimated at some 12 tokens and takes 10
            await client.request_completion(request(task=f"t{n}"))
    with anyio.move_on_after(0.05) as scope:
        await client.request_completion(request(task="more"))
    assert scope.cancelled_caught
    assert gauge.order == ["t0", "t1"]


async def test_a_pause_that_the_provider_asks_for_holds_for_everybody_who_shares_its_pool() -> None:
    gauge = Gauge(RateLimited("later", 0.2), None, None)
    pools = {"openai": {"pool": "team"}, "azure": {"pool": "team"}}
    providers = ProviderRegistry(rules(by_key=pools))
    client = limited(gauge, providers)
    error = await fail(client)
    assert error.pool == "team"
    assert error.opens_at is not None
    begun = anyio.current_time()
    await client.request_completion(request(model="anthropic/x"))
    between = anyio.current_time()
    await client.request_completion(request(model="azure/x"))
    assert anyio.current_time() - begun >= 0.19
    assert between - begun < anyio.current_time() - between, "a pool of its own is not paused"


async def test_a_pause_of_days_is_not_waited_for_and_tells_its_end_without_a_call() -> None:
    clock, gauge = Shifted(), Gauge(RateLimited("later", 3 * 86_400.0))
    client = limited(gauge, ProviderRegistry(rules(), now=clock))
    first = await fail(client)
    again = await fail(client, model=OTHER)
    assert isinstance(again, RateLimited)
    assert again.retry_after_s == pytest.approx(3 * 86_400, abs=10)
    assert again.opens_at == pytest.approx(first.opens_at, abs=timedelta(seconds=5))
    assert len(gauge.order) == 1
    clock.by_s = 3 * 86_400.0
    assert await client.request_completion(request())


async def test_a_pause_that_an_earlier_process_met_still_holds() -> None:
    until = datetime.now(UTC) + timedelta(days=2)
    gauge = Gauge()
    client = limited(
        gauge, ProviderRegistry(rules(), pauses={"openai": until, "gone": datetime(2020, 1, 1, tzinfo=UTC)})
    )
    error = await fail(client)
    assert (type(error), gauge.order) == (RateLimited, [])
    assert error.opens_at == pytest.approx(until, abs=timedelta(seconds=5))


async def test_those_who_wait_for_a_place_are_sent_away_when_the_pool_closes() -> None:
    gauge = Gauge(QuotaExhausted("no credit left"))
    client = limited(gauge, ProviderRegistry(rules(1)))
    errors: list[ModelError] = []

    async def one(n: int) -> None:
        errors.append(await fail(client, task=f"t{n}"))

    async with anyio.create_task_group() as group:
        for n in range(5):
            group.start_soon(one, n)
    assert [str(error) for error in errors] == ["no credit left"] * 5
    assert {type(error) for error in errors} == {QuotaExhausted}
    assert gauge.order == ["t0"]


async def test_a_used_up_quota_closes_its_pool_and_no_other() -> None:
    gauge = Gauge(QuotaExhausted("no credit left"))
    client = limited(gauge, ProviderRegistry(rules(by_key={"azure": {"pool": "openai"}})))
    await fail(client)
    assert isinstance(await fail(client, model="azure/x"), QuotaExhausted)
    await client.request_completion(request(model="anthropic/x"))
    assert len(gauge.order) == 2


async def test_a_refused_key_is_not_shown_again_but_another_key_is() -> None:
    gauge = Gauge(CredentialsMissing("wrong key"))
    client = limited(gauge, ProviderRegistry(rules()))
    await fail(client)
    assert isinstance(await fail(client), CredentialsMissing)
    await client.request_completion(request(api_key_env="OTHER_KEY"))
    assert len(gauge.order) == 2


async def test_a_provider_that_does_not_answer_is_tried_by_one_call_while_the_others_wait() -> None:
    gauge = Gauge(*[Unavailable("down")] * 3)
    client = limited(gauge, ProviderRegistry(rules(breaker_failures=3, breaker_pause_s=0.05)))
    await fail(client, times=3)
    gauge.gate = anyio.Event()
    async with anyio.create_task_group() as group:
        for n in range(5):
            group.start_soon(client.request_completion, request(task=f"t{n}"))
        await anyio.sleep(0.1)
        await anyio.wait_all_tasks_blocked()
        assert gauge.order[3:] == ["t0"]
        gauge.gate.set()
    assert gauge.order[3:] == [f"t{n}" for n in range(5)]


async def test_who_can_ask_somebody_else_does_not_wait_for_a_provider_that_does_not_answer() -> None:
    gauge = Gauge(Unavailable("down"))
    providers = ProviderRegistry(rules(breaker_failures=1, breaker_pause_s=3_600))
    await fail(limited(gauge, providers))
    error = await fail(limited(gauge, providers, may_fail_over=True))
    assert (type(error), len(gauge.order)) == (CircuitOpen, 1)


async def test_checking_needs_no_place() -> None:
    assert await limited(Gauge(), ProviderRegistry(rules(1))).find_model_problem("a/b", None, None) == "a/b: checked"
