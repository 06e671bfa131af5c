"""JSON-RPC over the pipes of an agent, one message a line, of bounded size and one at a time.

The messages are checked by the models of the published package, which only `acp_guest` loads.
"""

import json
from collections.abc import Mapping
from typing import Any

from orchestrator.errors import ProgramGone
from orchestrator.ports.processes import ProcessPipes

MAX_MESSAGE_BYTES = 16 * 1024 * 1024
_MAX_UNREADABLE = 1_000
"""Lines that are no messages: more of them than any program greets or warns with are no protocol."""
_METHOD_NOT_FOUND = -32601

Message = Mapping[str, Any]


class ProtocolBroken(Exception):
    """An agent does not keep to the protocol; the words are for people."""


class RequestRefusedByAgent(ProtocolBroken):
    """An agent answered a request with an error. `code` is its number."""

    def __init__(self, code: object, text: str) -> None:
        super().__init__(text)
        self.code = code


class MethodNotOffered(Exception):
    """An agent asks for a method that it was not offered."""


class MessageChannel:
    """Messages to and from one agent."""

    def __init__(self, pipes: ProcessPipes, limit_bytes: int) -> None:
        self._pipes = pipes
        self._left_bytes = limit_bytes
        self._unreadable = 0
        self._buffer = bytearray()
        self._searched = 0
        self._number = 0

    async def read_line(self) -> str:
        """Return the next line.

        Raises:
            ProtocolBroken: it is too long, or all of them together are.
            ProgramGone: there is none any more.
        """
        while (end := self._buffer.find(b"\n", self._searched)) < 0:
            self._searched = len(self._buffer)
            if self._searched > MAX_MESSAGE_BYTES:
                raise ProtocolBroken(f"one of its messages is longer than {MAX_MESSAGE_BYTES // 1024**2} MiB")
            chunk = await self._pipes.receive_bytes()
            if not chunk:
                raise ProgramGone("it has ended")
            self._buffer += chunk
            self._left_bytes -= len(chunk)
            if self._left_bytes < 0:
                raise ProtocolBroken("it printed more than output_mb allows")
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        self._searched = 0
        return line.decode("utf-8", "replace")

    async def read_message(self) -> Message:
        """Return the next message; lines that are none, such as a greeting, are passed over.

        Raises:
            ProtocolBroken: it is too long, or too many lines were none.
            ProgramGone: there is none any more.
        """
        while self._unreadable <= _MAX_UNREADABLE:
            line = await self.read_line()
            try:
                message = json.loads(line)
            except (ValueError, RecursionError):
                message = None
            if isinstance(message, dict) and message.get("jsonrpc") == "2.0":
                return message
            self._unreadable += 1
        raise ProtocolBroken(f"more than {_MAX_UNREADABLE:,} lines of its output are no messages")

    async def send_request(self, method: str, params: Mapping[str, Any]) -> int:
        """Send a request; return its number, by which the answer is known."""
        self._number += 1
        await self._send({"id": self._number, "method": method, "params": params})
        return self._number

    async def send_notification(self, method: str, params: Mapping[str, Any]) -> None:
        """Send what wants no answer."""
        await self._send({"method": method, "params": params})

    async def send_answer(self, request: Message, result: Mapping[str, Any]) -> None:
        """Answer a request of the agent."""
        await self._send({"id": request.get("id"), "result": result})

    async def send_error(self, request: Message, text: str, code: int = _METHOD_NOT_FOUND) -> None:
        """Refuse a request of the agent, with words that it can read."""
        await self._send({"id": request.get("id"), "error": {"code": code, "message": text}})

    async def _send(self, message: Mapping[str, Any]) -> None:
        text = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False)
        await self._pipes.send_bytes(text.encode("utf-8", "replace") + b"\n")


def read_answer(message: Message) -> Any:  # noqa: ANN401  any JSON
    """Return the result in an answer.

    Raises:
        RequestRefusedByAgent: it is an error.
    """
    error = message.get("error")
    if error is None:
        return message.get("result")
    if not isinstance(error, dict):
        raise RequestRefusedByAgent(None, "it refused without a word")
    data = error.get("data")
    text = str(error.get("message", ""))[:500]
    more = f": {json.dumps(data)[:500]}" if data else ""
    raise RequestRefusedByAgent(error.get("code"), f"{text}{more}")
