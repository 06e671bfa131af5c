"""A provider whose answers have no end, are a bomb, or are cut or garbled: the real litellm, real bytes on loopback."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx
import pytest

from orchestrator.domain.chat import Request
from orchestrator.llm.errors import CallTimedOut, ModelError, ReplyTooLarge, RequestRefused, Unavailable, UnknownModel
from orchestrator.llm.litellm_adapter.client import LiteLLMClient
from tests.loopback.builders import request
from tests.running.hostile_http import Flood, HostileServer, deflate_bomb, gzip_bomb

KILOBYTES_64 = b"a" * 65_536
SENT_BYTES = 24_000_000
"""What a server may have got rid of at most before the connection was closed: bounds and the kernel's buffers."""
JSON = ("Content-Type: application/json",)
EVENTS = ("Content-Type: text/event-stream",)


def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return b"data: " + json.dumps({"id": "c", "model": "m", "choices": [choice]}).encode() + b"\n\n"


def completion(content: str = "Done.", **fields: Any) -> bytes:
    message = {"role": "assistant", "content": content}
    whole = {"id": "c", "object": "chat.completion", "created": 1, "model": "m"}
    return json.dumps(
        {**whole, "choices": [{"index": 0, "message": message, "finish_reason": "stop"}], **fields}
    ).encode()


def tool_calls(count: int) -> bytes:
    calls = [
        {"id": f"c{n}", "type": "function", "function": {"name": "shell", "arguments": "{}"}} for n in range(count)
    ]
    message = {"role": "assistant", "content": None, "tool_calls": calls}
    return json.dumps({"id": "c", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}).encode()


@asynccontextmanager
async def asking(*floods: Flood) -> AsyncIterator[tuple[LiteLLMClient, HostileServer, str]]:
    server = HostileServer(*floods)
    async with server.run() as url, LiteLLMClient() as client:
        yield client, server, url


async def failure(client: LiteLLMClient, asked: Request) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await client.request_completion(asked)
    return caught.value


async def longest_gap(done: anyio.Event) -> float:
    """Return the longest time for which nothing else could run, in seconds."""
    longest, last = 0.0, anyio.current_time()
    while not done.is_set():
        await anyio.sleep(0.01)
        longest, last = max(longest, anyio.current_time() - last), anyio.current_time()
    return longest


AT_ONCE = {
    "plain": (Flood(pieces=(b'{"x": "',), endless=KILOBYTES_64), ReplyTooLarge),
    "gzip": (Flood(headers=(*JSON, "Content-Encoding: gzip"), pieces=(gzip_bomb(60),)), ReplyTooLarge),
    "deflate": (Flood(headers=(*JSON, "Content-Encoding: deflate"), pieces=(deflate_bomb(60),)), ReplyTooLarge),
    "brotli": (Flood(headers=(*JSON, "Content-Encoding: br"), endless=KILOBYTES_64), Unavailable),
    "zstd": (Flood(headers=(*JSON, "Content-Encoding: zstd"), endless=KILOBYTES_64), Unavailable),
    "gzip-twice": (Flood(headers=(*JSON, "Content-Encoding: gzip, gzip"), pieces=(gzip_bomb(1),)), Unavailable),
    "broken-gzip": (Flood(headers=(*JSON, "Content-Encoding: gzip"), endless=KILOBYTES_64), Unavailable),
    "headers": (Flood(headers=tuple(f"X-{n}: {'a' * 4_000}" for n in range(10_000))), Unavailable),
    "one-header": (Flood(headers=(f"X: {'a' * 20_000_000}",)), Unavailable),
    "deep": (Flood(pieces=(b'{"choices": ' + b"[" * 1_500_000,)), Unavailable),
    "number": (Flood(pieces=(b'{"choices": ' + b"9" * 1_500_000 + b"}",)), Unavailable),
    "garbage": (Flood(pieces=(b"<html>" + b"\\ secret: x" * 150_000,)), Unavailable),
    "tool-calls": (Flood(pieces=(tool_calls(15_000),)), ReplyTooLarge),
    "error": (Flood(status=400, pieces=(b'{"error": {"message": "',), endless=KILOBYTES_64), RequestRefused),
    "server-error": (Flood(status=500, endless=KILOBYTES_64), Unavailable),
    "error-bomb": (
        Flood(status=400, headers=(*JSON, "Content-Encoding: gzip"), pieces=(gzip_bomb(60),)),
        RequestRefused,
    ),
    "dribble": (Flood(pieces=(b"{",), endless=b" ", pause_s=0.02), CallTimedOut),
}

STREAMED = {
    "text": (Flood(headers=EVENTS, endless=chunk({"content": "word " * 10_000})), ReplyTooLarge),
    "arguments": (
        Flood(
            headers=EVENTS,
            endless=chunk(
                {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "arguments": "x" * 50_000}}]}
            ),
        ),
        ReplyTooLarge,
    ),
    "one-line": (Flood(headers=EVENTS, pieces=(b"data: ",), endless=KILOBYTES_64), ReplyTooLarge),
    "gzip": (Flood(headers=(*EVENTS, "Content-Encoding: gzip"), pieces=(gzip_bomb(60),)), ReplyTooLarge),
    "comments": (Flood(headers=EVENTS, endless=b": keep-alive\n\n", pause_s=0.01), CallTimedOut),
    "dribble": (Flood(headers=EVENTS, endless=chunk({"content": "a"}), pause_s=0.05), CallTimedOut),
    "error": (Flood(status=400, headers=EVENTS, endless=KILOBYTES_64), RequestRefused),
}


@pytest.mark.attack(65)
@pytest.mark.parametrize("kind", AT_ONCE)
async def test_a_reply_without_bounds_ends_with_a_name_and_stops_nobody(kind: str) -> None:
    flood, error = AT_ONCE[kind]
    await check_flood(flood, error, stall_s=0.0)


@pytest.mark.attack(65)
@pytest.mark.parametrize("kind", STREAMED)
async def test_a_stream_without_bounds_ends_with_a_name_and_stops_nobody(kind: str) -> None:
    flood, error = STREAMED[kind]
    await check_flood(flood, error, stall_s=2.0)


async def check_flood(flood: Flood, error: type[ModelError], stall_s: float) -> None:
    honest = Flood(pieces=(completion(),))
    async with asking(honest, flood, honest) as (client, server, url):
        await client.request_completion(request(api_base=url))
        done, gaps = anyio.Event(), []

        async def watch() -> None:
            gaps.append(await longest_gap(done))

        async with anyio.create_task_group() as group:
            group.start_soon(watch)
            timeout_s = 3.0 if error is CallTimedOut else 60.0
            told = await failure(client, request(api_base=url, timeout_s=timeout_s, stall_timeout_s=stall_s))
            done.set()
        assert type(told) is error, told
        assert server.sent < SENT_BYTES, "the connection is closed long before the end"
        assert gaps[0] < 5.0, "a megabyte takes litellm's own redactor four seconds"
        assert len(str(told)) < 1_000
        assert (await client.request_completion(request(api_base=url))).text == "Done."


@pytest.mark.attack(65)
async def test_a_reply_that_is_too_large_names_the_model_the_bound_and_the_key() -> None:
    async with asking(Flood(endless=KILOBYTES_64)) as (client, _, url):
        told = await failure(client, request(api_base=url))
    assert (told.code, told.is_transient, told.is_costly, told.may_be_billed) == ("reply-too-large", True, True, True)
    for word in ("openai/worker", "2 MB", "max_reply_mb", "[retry]"):
        assert word in str(told)


@pytest.mark.attack(65)
@pytest.mark.parametrize("model", ["openai/m", "anthropic/m", "azure/m", "gemini/m", "ollama_chat/m", "huggingface/m"])
@pytest.mark.parametrize("stall_s", [0.0, 20.0], ids=["at-once", "streamed"])
async def test_every_family_of_providers_is_bounded(
    model: str, stall_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_KEY", "sk-x")
    monkeypatch.setenv("AZURE_API_VERSION", "2024-02-01")
    async with asking(Flood(pieces=(b'{"x": "',), endless=KILOBYTES_64)) as (client, server, url):
        asked = request(model=model, api_base=url, api_key_env="SOME_KEY", stall_timeout_s=stall_s, timeout_s=60.0)
        assert type(await failure(client, asked)) is ReplyTooLarge
        assert server.sent < SENT_BYTES


@pytest.mark.attack(65)
async def test_a_provider_that_would_be_asked_past_the_bounds_is_refused_unasked() -> None:
    async with asking(Flood(endless=KILOBYTES_64)) as (client, server, url):
        told = await failure(client, request(model="aiohttp_openai/m", api_base=url))
        assert (type(told), server.calls) == (UnknownModel, 0)
        assert "openai/m" in str(await client.find_model_problem("aiohttp_openai/m", url, None))


@pytest.mark.attack(65)
async def test_control_the_same_bytes_reach_a_client_that_has_no_bounds() -> None:
    server = HostileServer(AT_ONCE["gzip"][0])
    async with server.run() as url, httpx.AsyncClient(trust_env=False) as client:
        answer = await client.post(f"{url}/chat/completions", json={})
        assert len(answer.content) > 60_000_000
        assert server.sent < 1_000_000


@pytest.mark.attack(65)
async def test_a_user_may_allow_more() -> None:
    text = "word " * 600_000
    server = HostileServer(Flood(pieces=(completion(text),)))
    async with server.run() as url:
        async with LiteLLMClient() as client:
            assert type(await failure(client, request(api_base=url))) is ReplyTooLarge
        async with LiteLLMClient(max_reply_mb=8) as client:
            assert (await client.request_completion(request(api_base=url))).text == text


CUT = {
    "no-answer": Flood(status=0),
    "no-body": Flood(headers=(*JSON, "Content-Length: 9000")),
    "half-a-reply": Flood(headers=(*JSON, "Content-Length: 9000"), pieces=(completion()[:80],)),
    "half-a-json": Flood(pieces=(completion()[:80],)),
    "garbage": Flood(pieces=(b"<html>Unicorn!</html>",)),
    "no-choice": Flood(pieces=(b"{}",)),
    "choices-of-another-shape": Flood(pieces=(b'{"choices": "x", "usage": []}',)),
    "senseless-usage": Flood(pieces=(completion(usage={"prompt_tokens": "x"}),)),
    "too-large": Flood(endless=KILOBYTES_64),
}


@pytest.mark.attack(66)
@pytest.mark.parametrize("kind", CUT)
async def test_a_cut_or_garbled_reply_may_have_been_billed(kind: str) -> None:
    async with asking(CUT[kind]) as (client, _, url):
        told = await failure(client, request(api_base=url))
    assert told.may_be_billed, told


@pytest.mark.attack(66)
@pytest.mark.parametrize("end", [b"", b"data: [DO"], ids=["cut", "garbled"])
async def test_a_stream_that_ends_before_its_end_may_have_been_billed(end: bytes) -> None:
    async with asking(Flood(headers=EVENTS, pieces=(chunk({"content": "Half "}), end))) as (client, _, url):
        told = await failure(client, request(api_base=url, stall_timeout_s=20.0))
    assert (type(told), told.may_be_billed) == (Unavailable, True)


@pytest.mark.attack(66)
@pytest.mark.parametrize("status", [400, 401, 429, 500, 503])
async def test_control_what_a_provider_refuses_is_not_billed(status: int) -> None:
    async with asking(Flood(status=status, pieces=(b'{"error": {"message": "no"}}',))) as (client, _, url):
        assert not (await failure(client, request(api_base=url))).may_be_billed


@pytest.mark.attack(66)
async def test_control_a_call_that_reached_nobody_is_not_billed() -> None:
    async with HostileServer().run() as url:
        pass
    async with LiteLLMClient() as client:
        assert not (await failure(client, request(api_base=url))).may_be_billed


@pytest.mark.attack(66)
async def test_a_call_whose_time_is_over_before_anything_was_sent_is_not_billed() -> None:
    async with asking(Flood()) as (client, server, url):
        told = await failure(client, request(api_base=url, timeout_s=0.0))
    assert (type(told), told.may_be_billed, server.calls) == (Unavailable, False, 0)


@pytest.mark.attack(66)
@pytest.mark.parametrize(
    "usage", [{}, {"usage": {"prompt_tokens": -9_000, "completion_tokens": 5}}, {"usage": {"prompt_tokens": 10**40}}]
)
async def test_a_reply_whose_tokens_nobody_counted_is_estimated_and_its_price_unknown(usage: dict[str, Any]) -> None:
    async with asking(Flood(pieces=(completion("word " * 400, **usage),))) as (client, _, url):
        answer = await client.request_completion(request(model="openai/gpt-4o-mini", api_base=url))
    assert (answer.usage.output_tokens, answer.usage.cost_text) == (500, "unknown")
    assert 0 < answer.usage.input_tokens < 100
    assert answer.usage.cost_usd > 0, "budgets count the estimate"
