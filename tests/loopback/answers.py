"""A script's items in the words of OpenAI's HTTP interface."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from orchestrator.llm.script import ScriptedReply
from tests.loopback.play import text_of

CHARS_PER_TOKEN = 4
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
    """What goes over the wire: `sent` of the body's bytes if it is cut short, nothing at all if `status` is 0."""

    status: int
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    sent: int | None = None


DISCONNECT = Answer(0)


def failure(status: int, code: str, message: str, retry_after_s: float | None = None) -> Answer:
    """An error as OpenAI words it."""
    body = {"error": {"message": message, "type": code, "code": code, "param": None}}
    headers = {} if retry_after_s is None else {"Retry-After": f"{retry_after_s:g}"}
    return Answer(status, json.dumps(body).encode(), headers)


def answer_for(item: ScriptedReply, place: int, request: dict[str, Any]) -> Answer:
    """The HTTP answer that an item stands for; `timed-out` never gets this far."""
    match item.wire:
        case "disconnect":
            return DISCONNECT
        case "malformed":
            return Answer(200, b'{"id": "chatcmpl-0", "choices": [')
        case "empty":
            return Answer(200, b"{}")
        case "truncated":
            body = completion(item, place, request)
            return Answer(200, body, sent=len(body) // 2)
    if item.error is not None:
        return failure(*FAILURES[item.error], item.retry_after_s)
    return Answer(200, completion(item, place, request))


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
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": item.ends_with}],
        "usage": _usage(item, request["messages"]),
        "system_fingerprint": None,
    }
    return json.dumps(body).encode()


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
