"""A short name for what a model is asked, by which a replay knows whether it is asked the same."""

import hashlib
import json
from collections.abc import Sequence
from functools import lru_cache

from orchestrator.domain.chat import Message, Request, ToolSpec
from orchestrator.llm.text_normalization import normalize_text

_KEPT = 2048


def hash_request(request: Request) -> str:
    """Return the sha256 of messages and tools, without what changes by itself; model and settings do not count."""
    digest = hashlib.sha256(hash_messages(request.messages).encode())
    digest.update(hash_tools(request.tools).encode())
    return digest.hexdigest()


def hash_messages(messages: Sequence[Message]) -> str:
    """Return the sha256 of a conversation without what changes by itself."""
    digest = hashlib.sha256()
    for message in messages:
        is_volatile = message.role in {"user", "tool"}
        calls = []
        for call in message.tool_calls:
            calls.append((call.id, call.name, call.arguments))
        digest.update(json.dumps([message.role, message.call_id, calls], ensure_ascii=True).encode())
        digest.update(_hash_message(message.text) if is_volatile else _sha(message.text))
    return digest.hexdigest()


def hash_tools(tools: Sequence[ToolSpec]) -> str:
    """Return the sha256 of the tools on offer."""
    offered = ", ".join(tool.json_text for tool in tools)
    return hashlib.sha256(f"[{offered}]".encode()).hexdigest()


@lru_cache(maxsize=_KEPT)
def _hash_message(text: str) -> bytes:
    """Return a message's digest, kept because every request of a session repeats what was said before."""
    return _sha(normalize_text(text))


def _sha(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
