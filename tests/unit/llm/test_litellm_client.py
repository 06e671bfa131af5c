"""The real litellm against a real HTTP server on the loopback interface."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal

import anyio
import pytest

from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.chat import Reply, ToolCall
from orchestrator.llm.errors import (
    CallTimedOut,
    ContextOverflow,
    CredentialsMissing,
    ModelError,
    QuotaExhausted,
    RateLimited,
    RequestRefused,
    Unavailable,
    UnknownModel,
)
from orchestrator.llm.litellm_adapter.client import LiteLLMClient
from orchestrator.llm.litellm_adapter.credentials import describe_key_variable
from orchestrator.llm.litellm_adapter.pricing import Price
from orchestrator.llm.retry import RetryEnvironment, RetryPolicy, complete_with_retries
from orchestrator.llm.scripted_model.script import ScriptedReply, ScriptedUsage
from tests.loopback.builders import SHELL, call, called, reply, request, returned, user
from tests.loopback.server import LoopbackServer

TOKENS = ScriptedUsage(input=1_000, output=100, cached=400)
BOOKED = Usage(calls=1, input_tokens=1_000, output_tokens=100, cached_tokens=400)


@asynccontextmanager
async def serving(*items: ScriptedReply) -> AsyncIterator[tuple[LiteLLMClient, LoopbackServer, str]]:
    server = LoopbackServer(items)
    async with server.run() as url, LiteLLMClient() as client:
        yield client, server, url


async def test_a_text_reply_comes_with_usage_and_an_unknown_price() -> None:
    async with serving(reply("Hello.", usage=TOKENS)) as (client, _, url):
        answer = await client.request_completion(request(api_base=url, tools=(SHELL,)))
    assert answer == Reply(
        text="Hello.",
        model="worker",
        finish_reason="stop",
        usage=BOOKED.model_copy(update={"unpriced_calls": 1}),
        seconds=answer.seconds,
    )
    assert answer.usage.cost_text == "unknown"
    assert 0 < answer.seconds < 60


async def test_several_tool_calls_come_back_with_their_arguments_as_written() -> None:
    calls = (call(command="ls  -l"), call(raw='{"command": "unfinished'), call("finish", raw=""))
    async with serving(reply("Looking.", call=calls)) as (client, _, url):
        answer = await client.request_completion(request(api_base=url, tools=(SHELL,)))
    assert (answer.text, answer.finish_reason) == ("Looking.", "tool_calls")
    assert answer.tool_calls == (
        ToolCall(id="call_0_0", name="shell", arguments='{"command": "ls  -l"}'),
        ToolCall(id="call_0_1", name="shell", arguments='{"command": "unfinished'),
        ToolCall(id="call_0_2", name="finish", arguments=""),
    )


async def test_the_server_gets_the_conversation_the_tools_and_the_settings() -> None:
    step = called(ToolCall(id="a", name="shell", arguments='{"command": "ls"}'))
    async with serving(reply()) as (client, server, url):
        asked = request(step, returned("a", "x.py"), api_base=url, tools=(SHELL,), temperature=0.25)
        await client.request_completion(asked.model_copy(update={"max_output_tokens": 99}))
    assert server.bodies == [
        {
            "model": "worker",
            "messages": [
                {"role": "system", "content": "You are a careful worker."},
                {"role": "user", "content": "Task: api\nGo on."},
                {
                    "role": "assistant",
                    "tool_calls": [
                        {"id": "a", "type": "function", "function": {"name": "shell", "arguments": '{"command": "ls"}'}}
                    ],
                },
                {"role": "tool", "tool_call_id": "a", "content": "x.py"},
            ],
            "tools": [{"type": "function", "function": SHELL.model_dump()}],
            "temperature": 0.25,
            "max_tokens": 99,
        }
    ]


async def test_a_model_on_the_price_list_is_priced_as_asked_for_not_as_it_calls_itself() -> None:
    server = LoopbackServer([reply(usage=TOKENS, model="gpt-4o")], roles={"gpt-4o-mini": "worker"})
    async with server.run() as url, LiteLLMClient() as client:
        answer = await client.request_completion(request(api_base=url, model="openai/gpt-4o-mini"))
    assert answer.model == "gpt-4o"
    assert answer.usage == BOOKED.model_copy(update={"cost_usd": Decimal("0.00018")})


async def test_a_model_that_calls_itself_by_a_priced_name_stays_unpriced() -> None:
    async with serving(reply(usage=TOKENS, model="gpt-4o")) as (client, _, url):
        assert (await client.request_completion(request(api_base=url))).usage.cost_text == "unknown"


@pytest.mark.parametrize(
    "model", ["gpt-4o-mini", "openai/gpt-4o-mini", "anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-pro"]
)
async def test_a_price_is_known_before_the_call_as_the_list_books_it(model: str) -> None:
    async with LiteLLMClient() as client:
        price = await client.find_price(model)
    assert price is not None
    assert 0 < price.input_usd < price.output_usd < 100
    assert price.cached_usd is not None
    assert price.cached_usd < price.input_usd


@pytest.mark.parametrize("model", ["openai/worker", "nobody/worker", "github_copilot/gpt-4o", "azure/gpt-4o-mini-x"])
async def test_a_model_that_is_not_on_the_list_has_no_price_beforehand(
    model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async with LiteLLMClient() as client:
        assert await client.find_price(model) is None
    assert capsys.readouterr() == ("", "")


async def test_what_the_list_says_beforehand_is_what_a_call_costs() -> None:
    server = LoopbackServer([reply(usage=TOKENS)], roles={"gpt-4o-mini": "worker"})
    async with server.run() as url, LiteLLMClient() as client:
        answer = await client.request_completion(request(api_base=url, model="openai/gpt-4o-mini"))
        price = await client.find_price("openai/gpt-4o-mini")
    assert price is not None
    assert price.compute_cost(answer.usage) == answer.usage.cost_usd


async def test_the_users_own_price_goes_before_the_list() -> None:
    price = Price(input_usd=Decimal(1), output_usd=Decimal(2), cached_usd=Decimal(0))
    async with LoopbackServer([reply(usage=TOKENS)]).run() as url, LiteLLMClient({"openai/worker": price}) as client:
        assert (await client.request_completion(request(api_base=url))).usage == BOOKED + Usage(
            cost_usd=Decimal("0.0008")
        )
        assert await client.find_price("openai/worker") == price


@pytest.mark.parametrize(
    ("item", "error", "wait_s"),
    [
        (reply(error="rate-limited"), RateLimited, None),
        (reply(error="rate-limited", retry_after_s=7), RateLimited, 7.0),
        (reply(error="quota-exhausted"), QuotaExhausted, None),
        (reply(error="unavailable"), Unavailable, None),
        (reply(error="unavailable", retry_after_s=2), Unavailable, 2.0),
        (reply(error="unavailable", wire="disconnect"), Unavailable, None),
        (reply(error="unavailable", wire="truncated"), Unavailable, None),
        (reply(error="unavailable", wire="malformed"), Unavailable, None),
        (reply(error="unavailable", wire="empty"), Unavailable, None),
        (reply(error="context-overflow"), ContextOverflow, None),
        (reply(error="credentials-missing"), CredentialsMissing, None),
        (reply(error="unknown-model"), UnknownModel, None),
        (reply(error="request-refused"), RequestRefused, None),
    ],
    ids=lambda value: f"{value.error}-{value.wire}" if isinstance(value, ScriptedReply) else "",
)
async def test_what_goes_wrong_over_http_becomes_our_error(
    item: ScriptedReply, error: type[ModelError], wait_s: float | None
) -> None:
    async with serving(item, reply("Back again.")) as (client, server, url):
        with pytest.raises(error) as failure:
            await client.request_completion(request(api_base=url, tools=(SHELL,)))
        assert type(failure.value) is error
        assert failure.value.retry_after_s == wait_s
        assert str(failure.value).startswith("openai/worker: ")
        assert server.stats()["calls"] == 1, "litellm must not try again by itself"
        assert (await client.request_completion(request(api_base=url))).text == "Back again."


async def test_a_server_that_refuses_connections_is_unavailable() -> None:
    async with LoopbackServer([]).run() as url:
        pass
    async with LiteLLMClient() as client:
        with pytest.raises(Unavailable, match="Cannot connect"):
            await client.request_completion(request(api_base=url))


async def test_a_call_ends_at_its_timeout_and_hangs_up() -> None:
    async with serving(reply("warm"), reply(error="timed-out")) as (client, server, url):
        await client.request_completion(request(api_base=url))
        with pytest.raises(CallTimedOut, match=r"no complete reply within 0\.4 s"):
            await client.request_completion(request(user("More."), api_base=url, timeout_s=0.4))
        with anyio.fail_after(120):
            await server.reached("disconnects", 1)


async def test_cancelling_a_call_closes_its_connection() -> None:
    async with serving(reply("slow", delay_s=60)) as (client, server, url):
        with anyio.fail_after(120):
            async with anyio.create_task_group() as group:
                group.start_soon(client.request_completion, request(api_base=url))
                await server.reached("calls", 1)
                assert server.stats()["disconnects"] == 0
                group.cancel_scope.cancel()
            await server.reached("disconnects", 1)


async def test_many_calls_run_side_by_side() -> None:
    items = [reply(f"t{n}", task=f"t{n}", delay_s=1.0) for n in range(40)]
    texts: list[str] = []
    async with serving(reply("warm"), *items) as (client, _, url):
        await client.request_completion(request(api_base=url))

        async def one(n: int) -> None:
            texts.append((await client.request_completion(request(api_base=url, task=f"t{n}"))).text)

        begun = anyio.current_time()
        async with anyio.create_task_group() as group:
            for n in range(40):
                group.start_soon(one, n)
        assert anyio.current_time() - begun < 40 * 1.0 / 2
    assert sorted(texts) == sorted(f"t{n}" for n in range(40))


async def test_retries_get_through_a_server_in_trouble() -> None:
    failures: list[tuple[str, float | None]] = []

    async def on_failure(error: ModelError, try_no: int, retry_in_s: float | None) -> None:
        failures.append((error.code, retry_in_s))

    async def no_sleep(seconds: float) -> None:
        await anyio.lowlevel.checkpoint()

    world = RetryEnvironment(draw=lambda: 0.5, sleep=no_sleep)
    trouble = (reply(error="rate-limited", retry_after_s=9), reply(error="unavailable", wire="disconnect"))
    async with serving(*trouble, reply("Through.")) as (client, server, url):
        answer = await complete_with_retries(client, request(api_base=url), RetryPolicy(), on_failure, world)
        assert server.stats()["calls"] == 3
    assert answer.text == "Through."
    assert failures == [("rate-limited", 10.0), ("unavailable", 2.0)]


async def test_the_key_comes_from_the_variable_that_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-mine")
    async with serving(reply()) as (client, server, url):
        await client.request_completion(request(api_base=url, api_key_env="MY_KEY"))
    assert server.headers[0]["authorization"] == "Bearer sk-mine"


@pytest.mark.parametrize("model", ["openai/gpt-4o", "gpt-4o"])
async def test_openais_key_does_not_go_to_somebody_elses_server(monkeypatch: pytest.MonkeyPatch, model: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-openai")
    server = LoopbackServer([reply()], roles={"gpt-4o": "worker"})
    async with server.run() as url, LiteLLMClient() as client:
        await client.request_completion(request(api_base=url, model=model))
    assert server.headers[0]["authorization"] == "Bearer none"


@pytest.mark.parametrize(
    ("model", "api_key_env", "named"),
    [
        ("anthropic/x", None, "ANTHROPIC_API_KEY, or name another variable in the model's `api_key_env`"),
        ("anthropic/x", "MY_KEY", "MY_KEY"),
        ("bedrock/x", None, "the provider's variables, or name another variable in the model's `api_key_env`"),
        ("gpt-4o", None, "the provider's variables, or name another variable in the model's `api_key_env`"),
    ],
)
def test_a_refused_key_is_named(model: str, api_key_env: str | None, named: str) -> None:
    assert describe_key_variable(model, api_key_env) == named


async def test_a_variable_that_is_not_set_is_named_before_any_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MY_KEY", raising=False)
    async with serving(reply()) as (client, server, url):
        with pytest.raises(CredentialsMissing, match="environment variable MY_KEY is not set"):
            await client.request_completion(request(api_base=url, api_key_env="MY_KEY"))
        assert server.stats()["calls"] == 0


async def test_an_unknown_provider_is_an_unknown_model() -> None:
    async with LiteLLMClient() as client:
        with pytest.raises(UnknownModel, match="nobody/knows: no such provider or model"):
            await client.request_completion(request(model="nobody/knows"))


@pytest.mark.parametrize(
    ("model", "api_base", "api_key_env", "fault"),
    [
        ("openai/gpt-4o", None, None, "set the environment variable OPENAI_API_KEY"),
        ("gpt-4o", None, None, "set the environment variable OPENAI_API_KEY"),
        ("anthropic/claude-sonnet-4-5", None, None, "set the environment variable ANTHROPIC_API_KEY"),
        ("gemini/gemini-2.5-pro", None, None, "set the environment variables GOOGLE_API_KEY or GEMINI_API_KEY"),
        ("openai/local", "http://127.0.0.1:1/v1", None, None),
        ("openai/local", "http://127.0.0.1:1/v1", "MY_KEY", "the environment variable MY_KEY is not set"),
        ("openai/gpt-4o", None, "SET_KEY", None),
        ("anthropic/claude-sonnet-4-5", None, "SET_KEY", None),
        ("ollama/llama3", None, None, None),
        ("github_copilot/gpt-4o", None, None, None),
        ("opnai/gpt-4o", None, None, "did you mean 'openai/gpt-4o'?"),
        ("gpt-4o-minni", None, None, "did you mean 'gpt-4o-mini'?"),
        ("zzz", None, None, "write it as provider/model"),
    ],
)
async def test_a_name_and_its_key_are_checked_without_a_call(
    monkeypatch: pytest.MonkeyPatch, model: str, api_base: str | None, api_key_env: str | None, fault: str | None
) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "GOOGLE_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("MY_KEY", raising=False)
    monkeypatch.setenv("SET_KEY", "sk-x")
    async with LiteLLMClient() as client:
        found = await client.find_model_problem(model, api_base, api_key_env)
    if fault is None:
        assert found is None
    else:
        assert found is not None
        assert found.startswith(f"{model}: ")
        assert fault in found
