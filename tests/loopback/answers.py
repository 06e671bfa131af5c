"""A script's items in the words of OpenAI's HTTP interface."""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from email.utils import formatdate
from typing import Any

from orchestrator.llm.scripted_model.script import ScriptedReply
from tests.loopback.play import Unplayable, text_of

CHARS_PER_TOKEN = 4
TOO_LARGE_BYTES = 3_000_000
FAILURES = {
    "rate-limited": (429, "rate_limit_exceeded", "Rate limit reached for requests."),
    "quota-exhausted": (429, "insufficient_quota", "You exceeded your current quota, please check your plan."),
    "unavailable": (500, "server_error", "The server had an error while processing your request."),
    "context-overflow": (400, "context_length_exceeded", "This model's maximum context length is 8192 tokens."),
    "credentials-missing": (401, "invalid_api_key", "Incorrect API key provided."),
    "unknown-model": (404, "model_not_found", "The model does not exist."),
    "request-refused": (400, "invalid_request_error", "The request is not acceptable."),
    "script-exhausted": (400, "script_exhausted", "The script has no more replies."),
}


@dataclass(frozen=True)
class Answer:
    """What goes over the wire: `sent` of the body's bytes if it is cut short, nothing at all if `status` is 0.

    `pieces` are sent instead of `body`, one by one; `hangs` keeps the connection open after what is sent.
    """

    status: int
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    sent: int | None = None
    pieces: tuple[bytes, ...] = ()
    hangs: bool = False


DISCONNECT = Answer(0)


def failure(
    status: int, code: str, message: str, retry_after_s: float | None = None, *, is_dated: bool = False
) -> Answer:
    """An error as OpenAI words it; `is_dated` gives Retry-After as a date."""
    body = {"error": {"message": message, "type": code, "code": code, "param": None}}
    headers = {}
    if retry_after_s is not None:
        until = formatdate(time.time() + retry_after_s, usegmt=True)
        headers["Retry-After"] = until if is_dated else f"{retry_after_s:g}"
    return Answer(status, json.dumps(body).encode(), headers)


def answer_for(
    item: ScriptedReply, place: int, request: dict[str, Any], *, is_dated: bool = False, thinks: bool = False
) -> Answer:
    """The HTTP answer that an item stands for; `timed-out` without `stalled` never gets this far."""
    if item.error == "reply-too-large":
        return Answer(200, b'{"choices": "' + b"a" * TOO_LARGE_BYTES)
    if request.get("stream") and (item.error is None or item.wire in {"truncated", "unfinished", "stalled"}):
        return _streamed(item, place, request)
    match item.wire:
        case "disconnect":
            return DISCONNECT
        case "malformed":
            return Answer(200, b'{"id": "chatcmpl-0", "choices": [')
        case "empty":
            return Answer(200, b"{}")
        case "truncated" | "unfinished" | "stalled":
            body = completion(item, place, request)
            return Answer(200, body, sent=len(body) // 2, hangs=item.wire == "stalled")
    if item.error is not None:
        return failure(*FAILURES[item.error], item.retry_after_s, is_dated=is_dated)
    return Answer(200, add_thought(completion(item, place, request)) if thinks else completion(item, place, request))


def add_thought(completed: bytes) -> bytes:
    """The completion of a model that thinks aloud before it calls tools."""
    body = json.loads(completed)
    message = body["choices"][0]["message"]
    if message.get("tool_calls"):
        message["reasoning_content"] = _thought_before(message)
    return json.dumps(body).encode()


def require_thoughts(messages: Sequence[dict[str, Any]]) -> None:
    """Refuse a conversation as DeepSeek does, in which a reply lacks what was thought before its calls."""
    for message in messages:
        if message.get("tool_calls") and message.get("reasoning_content") != _thought_before(message):
            raise Unplayable("The reasoning_content in the thinking mode must be passed back to the API.")


def _thought_before(message: dict[str, Any]) -> str:
    return "I want " + ", ".join(call["id"] for call in message["tool_calls"])


def completion(item: ScriptedReply, place: int, request: dict[str, Any]) -> bytes:
    """A chat completion; the same request and item always give the same bytes."""
    message: dict[str, Any] = {"role": "assistant", "content": item.text or None, "refusal": None}
    if item.call:
        message["tool_calls"] = [
            {"id": f"call_{place}_{n}", "type": "function", "function": {"name": call.tool, "arguments": call.text}}
            for n, call in enumerate(item.call)
        ]
    body = {
        "id": f"chatcmpl-{place}",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": item.model or request["model"],
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": item.effective_finish_reason}],
        "usage": _usage(item, request["messages"]),
        "system_fingerprint": None,
    }
    return json.dumps(body).encode()


def _streamed(item: ScriptedReply, place: int, request: dict[str, Any]) -> Answer:
    """A reply piece by piece, or the first half of one that comes no further."""
    whole = json.loads(completion(item, place, request))
    message, usage = whole["choices"][0]["message"], whole.pop("usage")
    text = message["content"] or ("" if item.call else "Something to say.")
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": text[n : n + 4]} for n in range(0, len(text), 4)]
    for index, call in enumerate(message.get("tool_calls", ())):
        name, arguments = call["function"]["name"], call["function"]["arguments"]
        deltas.append({"tool_calls": [{**call, "index": index, "function": {"name": name, "arguments": ""}}]})
        for n in range(0, len(arguments), 5):
            piece = {"index": index, "function": {"arguments": arguments[n : n + 5]}}
            deltas.append({"tool_calls": [piece]})
    frame = {**whole, "object": "chat.completion.chunk"}
    chunks = [{**frame, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    headers = {"Content-Type": "text/event-stream"}
    if item.error is not None:
        half = tuple(_event(chunk) for chunk in chunks[: len(chunks) // 2 + 1])
        sent = 0 if item.wire == "truncated" else None
        return Answer(200, headers=headers, pieces=half, sent=sent, hangs=item.wire == "stalled")
    chunks.append({**frame, "choices": [{"index": 0, "delta": {}, "finish_reason": item.effective_finish_reason}]})
    if request.get("stream_options", {}).get("include_usage"):
        chunks.append({**frame, "choices": [], "usage": usage})
    return Answer(200, headers=headers, pieces=(*map(_event, chunks), b"data: [DONE]\n\n"))


def _event(chunk: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


def _usage(item: ScriptedReply, messages: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The script's numbers; else four characters a token, of which what an earlier turn sent was cached."""
    if item.usage.input or item.usage.output:
        tokens = (item.usage.input, item.usage.output, item.usage.cached)
    else:
        last = max((n for n, message in enumerate(messages) if message.get("role") == "assistant"), default=0)
        written = len(item.text) + sum(len(call.tool) + len(call.text) for call in item.call)
        tokens = (_tokens(messages), written // CHARS_PER_TOKEN + 1, _tokens(messages[:last]))
    read, wrote, cached = tokens
    return {
        "prompt_tokens": read,
        "completion_tokens": wrote,
        "total_tokens": read + wrote,
        "prompt_tokens_details": {"cached_tokens": cached, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }


def _tokens(messages: Sequence[dict[str, Any]]) -> int:
    calls = (json.dumps(message["tool_calls"]) for message in messages if message.get("tool_calls"))
    return (sum(len(text_of(message)) for message in messages) + sum(map(len, calls))) // CHARS_PER_TOKEN
