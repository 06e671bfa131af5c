"""The pipes of a program that is played in memory: what it hears makes what it says."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import anyio

from orchestrator.ports.processes import READ_BYTES

Play = Callable[["PlayedPipes", Mapping[str, Any]], None]


class PlayedPipes:
    """Pipes to a program; `play` is called with each message that it hears, and answers by `say`."""

    def __init__(self, play: Play, greeting: str = "/src/project\n") -> None:
        self.play = play
        self._output = bytearray(greeting.encode())
        self._has_more = anyio.Event()
        self._is_over = False
        self.heard: list[Mapping[str, Any]] = []

    def say(self, **message: Any) -> None:
        """Print a message of the protocol."""
        self.print_bytes(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def print_bytes(self, content: bytes) -> None:
        """Print anything."""
        self._output += content
        self._has_more.set()

    def end(self) -> None:
        """End the program."""
        self._is_over = True
        self._has_more.set()

    async def send_bytes(self, content: bytes) -> None:
        message = json.loads(content)
        self.heard.append(message)
        self.play(self, message)

    async def receive_bytes(self, limit: int = READ_BYTES) -> bytes:
        while not self._output and not self._is_over:
            self._has_more = anyio.Event()
            await self._has_more.wait()
        content = bytes(self._output[:limit])
        del self._output[:limit]
        return content

    async def close_input(self) -> None:
        self.end()

    def find_answer(self, number: object) -> Mapping[str, Any]:
        """What was answered to the program's own request."""
        return next(one for one in self.heard if one.get("id") == number and "method" not in one)
