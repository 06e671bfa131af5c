"""A short name for what a model is asked, by which a replay knows whether it is asked the same."""

import hashlib
from collections.abc import Sequence

from orchestrator.domain.chat import Message, Request, ToolSpec


def hash_request(request: Request) -> str:
    """Return the sha256 of messages and tools, without what changes by itself; model and settings do not count."""
    digest = hashlib.sha256(hash_messages(request.messages).encode())
    digest.update(hash_tools(request.tools).encode())
    return digest.hexdigest()


def hash_messages(messages: Sequence[Message]) -> str:
    """Return the sha256 of a conversation without what changes by itself."""
    return hashlib.sha256(b"".join(message.digest for message in messages)).hexdigest()


def hash_tools(tools: Sequence[ToolSpec]) -> str:
    """Return the sha256 of the tools on offer."""
    offered = ", ".join(tool.json_text for tool in tools)
    return hashlib.sha256(f"[{offered}]".encode()).hexdigest()
