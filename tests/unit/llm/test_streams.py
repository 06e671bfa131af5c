"""Replies that come piece by piece, through the real litellm from a real HTTP server on the loopback interface."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal

import anyio
import pytest

from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.chat import Reply, Request, ToolCall
from orchestrator.llm.errors import CallTimedOut, ContextOverflow, CredentialsMissing, ModelError, RateLimited
from orchestrator.llm.errors import Unavailable as Down
from orchestrator.llm.litellm_adapter.client import LiteLLMClient
from orchestrator.llm.scripted_model.script import ScriptedReply, ScriptedUsage
from tests.loopback.builders import SHELL, call, reply, request, user
from tests.loopback.server import LoopbackServer

# litellm looks at every attribute of every piece, those included that pydantic wants to get rid of.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Accessing the 'model_:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Items? '.*' on TypedDict class:UserWarning"),
]

TOKENS = ScriptedUsage(input=1_000, output=100, cached=400)
BOOKED = Usage(calls=1, input_tokens=1_000, output_tokens=100, cached_tokens=400)


@asynccontextmanager
async def serving(*items: ScriptedReply) -> AsyncIterator[tuple[LiteLLMClient, LoopbackServer, str]]:
    server = LoopbackServer([reply("warm"), *items], roles={"gpt-4o-mini": "worker"})
    async with server.run() as url, LiteLLMClient() as client:
        await client.request_completion(request(user("Warm up."), api_base=url))
        yield client, server, url


def streamed(url: str, stall_s: float = 60.0, **fields: object) -> Request:
    return request(api_base=url, tools=(SHELL,), stall_timeout_s=stall_s, **fields)


async def test_a_text_is_put_together_with_the_usage_that_the_server_counts() -> None:
    async with serving(reply("Hello, wide world.", usage=TOKENS)) as (client, server, url):
        answer = await client.request_completion(streamed(url))
    assert answer == Reply(
        text="Hello, wide world.",
        model="worker",
        finish_reason="stop",
        usage=BOOKED.model_copy(update={"unpriced_calls": 1}),
        seconds=answer.seconds,
    )
    assert (server.bodies[1]["stream"], server.bodies[1]["stream_options"]) == (True, {"include_usage": True})


async def test_tool_calls_are_put_together_as_the_model_wrote_them() -> None:
    calls = (call(command="ls  -l"), call(raw='{"command": "unfinished'), call("finish", raw=""))
    async with serving(reply("Looking.", call=calls)) as (client, _, url):
        answer = await client.request_completion(streamed(url))
    assert (answer.text, answer.finish_reason) == ("Looking.", "tool_calls")
    assert answer.tool_calls == (
        ToolCall(id="call_1_0", name="shell", arguments='{"command": "ls  -l"}'),
        ToolCall(id="call_1_1", name="shell", arguments='{"command": "unfinished'),
        ToolCall(id="call_1_2", name="finish", arguments=""),
    )


async def test_a_streamed_reply_costs_what_one_at_once_costs() -> None:
    async with serving(reply("Hello.", usage=TOKENS, model="gpt-4o")) as (client, _, url):
        answer = await client.request_completion(streamed(url, model="openai/gpt-4o-mini"))
    assert answer.usage == BOOKED.model_copy(update={"cost_usd": Decimal("0.00018")})


@pytest.mark.parametrize(
    ("item", "error"),
    [
        (reply(error="timed-out"), CallTimedOut),
        (reply(error="timed-out", wire="stalled"), CallTimedOut),
        (reply(error="unavailable", wire="unfinished"), Down),
        (reply(error="unavailable", wire="truncated"), Down),
        (reply(error="unavailable", wire="disconnect"), Down),
        (reply(error="unavailable", wire="malformed"), Down),
        (reply(error="unavailable", wire="empty"), Down),
        (reply(error="unavailable"), Down),
        (reply(error="rate-limited", retry_after_s=7), RateLimited),
        (reply(error="context-overflow"), ContextOverflow),
        (reply(error="credentials-missing"), CredentialsMissing),
    ],
    ids=lambda value: f"{value.error}-{value.wire}" if isinstance(value, ScriptedReply) else "",
)
async def test_what_goes_wrong_becomes_the_same_error_as_without_streaming(
    item: ScriptedReply, error: type[ModelError]
) -> None:
    async with serving(item, reply("Back again.")) as (client, server, url):
        with pytest.raises(error) as failure:
            await client.request_completion(streamed(url, stall_s=1.5 if error is CallTimedOut else 60.0))
        assert type(failure.value) is error
        assert failure.value.retry_after_s == item.retry_after_s
        assert server.stats()["calls"] == 2, "litellm must not try again by itself"
        assert (await client.request_completion(streamed(url))).text == "Back again."


async def test_a_reply_that_goes_on_coming_is_not_given_up() -> None:
    text = "word " * 20
    server = LoopbackServer([reply("warm"), reply("up"), reply(text)], piece_delay_s=0.1)
    async with server.run() as url, LiteLLMClient() as client:
        await client.request_completion(request(user("Warm up."), api_base=url))
        first = request(user("More."), api_base=url, stall_timeout_s=60.0)
        await client.request_completion(first)  # the first stream in a process takes litellm its time
        answer = await client.request_completion(streamed(url, stall_s=2.0))
    assert answer.text == text
    assert answer.seconds > 2.0, "longer than it may stand still"


@pytest.mark.parametrize("stall_s", [0.0, 30.0], ids=["at-once", "streamed"])
@pytest.mark.parametrize("item", [reply("slow", delay_s=60), reply(error="timed-out", wire="stalled")])
async def test_cancelling_a_call_closes_its_connection(item: ScriptedReply, stall_s: float) -> None:
    async with serving(item) as (client, server, url):
        with anyio.fail_after(120):
            async with anyio.create_task_group() as group:
                group.start_soon(client.request_completion, streamed(url, stall_s))
                await server.reached("calls", 2)
                await anyio.sleep(0.1)
                assert server.stats()["disconnects"] == 0
                group.cancel_scope.cancel()
            await server.reached("disconnects", 1)


async def test_a_reply_that_stalls_hangs_up() -> None:
    async with serving(reply(error="timed-out", wire="stalled")) as (client, server, url):
        with pytest.raises(CallTimedOut, match=r"nothing arrived for 0\.4 s"):
            await client.request_completion(streamed(url, 0.4))
        with anyio.fail_after(120):
            await server.reached("disconnects", 1)
