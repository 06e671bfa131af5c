"""Replies of a model's server, as bytes on a socket, through the real litellm."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from socket import create_server, socket
from threading import Thread
from typing import Any

import anyio

from orchestrator.llm.errors import ModelError
from orchestrator.llm.litellm_adapter.client import LiteLLMClient
from tests.fuzzing.mutations import encode_json, mutate_bytes, mutate_document
from tests.fuzzing.odd_values import choose_text
from tests.fuzzing.target import Given, Target
from tests.loopback.builders import request

_COMPLETION: dict[str, Any] = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1_700_000_000,
    "model": "worker",
    "choices": [
        {
            "index": 0,
            "finish_reason": "tool_calls",
            "message": {
                "role": "assistant",
                "content": "I look.",
                "reasoning_content": "I wonder.",
                "thinking_blocks": [{"type": "thinking", "thinking": "I wonder.", "signature": "c2ln"}],
                "provider_specific_fields": {
                    "reasoning_details": [{"type": "reasoning.text", "text": "I", "index": 0}]
                },
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "shell", "arguments": '{"command": "ls"}'}}
                ],
            },
        }
    ],
    "usage": {
        "prompt_tokens": 10,
        "completion_tokens": 5,
        "total_tokens": 15,
        "cost": 0.1,
        "prompt_tokens_details": {"cached_tokens": 3},
    },
}
_ERROR = {"error": {"message": "Rate limit reached, try again in 20ms.", "type": "rate", "code": "rate_limit"}}


def _make_case(chance: Random) -> Given:
    status = chance.choice((200, 200, 200, 200, 400, 401, 404, 408, 429, 500, 503, 529, 302, 199, 999))
    body = encode_json(mutate_document(chance, _COMPLETION if status == 200 else _ERROR))
    if chance.random() < 0.4:
        body = mutate_bytes(chance, body)
    kind = "application/json"
    if chance.random() < 0.3:
        kind, body = "text/event-stream", _cut_into_events(chance, body)
    headers = [f"Content-Type: {kind}", f"Content-Length: {len(body)}", "Connection: close"]
    if chance.random() < 0.3:
        value = choose_text(chance).replace("\n", " ").replace("\r", " ")
        headers.append(f"{chance.choice(('Retry-After', 'X-RateLimit-Reset', 'retry-after-ms', 'X'))}: {value[:200]}")
    head = "\r\n".join((f"HTTP/1.1 {status} Words", *headers, "", "")).encode("utf-8", "replace")
    is_streamed = kind == "text/event-stream"
    if chance.random() < 0.1:
        return [mutate_bytes(chance, head + body), is_streamed]
    return [head + body, is_streamed]


def _cut_into_events(chance: Random, body: bytes) -> bytes:
    delta = {"role": "assistant", "content": "I look."}
    if chance.random() < 0.5:
        delta = mutate_document(chance, _COMPLETION["choices"][0]["message"])
    chunk = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": delta, "finish_reason": None}],
    }
    events = [encode_json(mutate_document(chance, chunk)), encode_json(chunk), body, b"[DONE]"]
    chance.shuffle(events)
    return b"".join(b"data: " + event + b"\n\n" for event in events)


@contextmanager
def _serve(content: bytes) -> Iterator[int]:
    """Answer every connection with these bytes."""
    with create_server(("127.0.0.1", 0)) as listener:
        Thread(target=_answer, args=(listener, content), daemon=True).start()
        yield listener.getsockname()[1]


def _answer(listener: socket, content: bytes) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection:
            connection.settimeout(2)
            try:
                said = b""
                while b"\r\n\r\n" not in said or not said.rstrip().endswith(b"}"):
                    said += connection.recv(65_536)
                connection.sendall(content)
            except OSError:
                continue


def _run_case(given: Given, _place: Path) -> None:
    content, is_streamed = given
    with _serve(content) as port:
        anyio.run(_ask, f"http://127.0.0.1:{port}/v1", is_streamed)


async def _ask(url: str, is_streamed: bool) -> None:
    stall = 3.0 if is_streamed else 0.0
    asked = request(api_base=url, api_key_env="PATH", timeout_s=6.0, stall_timeout_s=stall)
    client = LiteLLMClient()
    try:
        with anyio.fail_after(10):
            reply = await client.request_completion(asked)
        reply.model_dump_json()
        json.dumps(reply.text).encode()
    except ModelError as error:
        str(error).encode()
    finally:
        await client.aclose()


TARGET = Target("model-replies", _make_case, _run_case)
