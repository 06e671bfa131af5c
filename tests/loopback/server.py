"""A small OpenAI-compatible server on 127.0.0.1 that plays the same scripts as `scripted:FILE` models.

In a test: `async with LoopbackServer(items).run() as url`. As a process of its own:
`python -m tests.loopback.server SCRIPT... [--port N] [--state FILE] [--latency S]`; it writes its URL as the first line
of standard output. The role is taken from the model's name (`openai/worker`, `openai/worker-strong`), the task from a
line `Task: <id>` of the first user message. `GET /_stats` tells what happened.
"""

import argparse
import json
import math
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import h11
from anyio.abc import SocketAttribute, SocketStream

from orchestrator.domain.chat import Role
from orchestrator.llm.errors import ScriptExhausted
from orchestrator.llm.scripted_model.script import ScriptedReply, read_script
from tests.loopback.answers import Answer, answer_for, failure, require_thoughts
from tests.loopback.play import Play, Unplayable, role_of, task_of

CHUNK_BYTES = 65_536
GONE = (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError, h11.RemoteProtocolError)


class LoopbackServer:
    """The server; `latency_s` is waited before every answer, besides an item's own `delay_s`.

    `roles` says which role a model has whose name does not tell, such as `gpt-4o-mini`; `is_dated` gives every
    Retry-After as a date, `piece_delay_s` is waited before each piece of a streamed answer. `answering` makes the reply
    to a role's request of the request itself, where no script could know it. With `thinks` models think aloud before
    they call tools, and refuse a conversation in which that does not come back, as DeepSeek does.
    """

    def __init__(
        self,
        items: Iterable[ScriptedReply],
        *,
        latency_s: float = 0.0,
        state: Path | None = None,
        roles: Mapping[str, Role] | None = None,
        is_dated: bool = False,
        piece_delay_s: float = 0.0,
        answering: Mapping[Role, Callable[[dict[str, Any]], ScriptedReply]] | None = None,
        thinks: bool = False,
    ) -> None:
        self._thinks = thinks
        self._answering = dict(answering or {})
        self._play = Play(items, state)
        self._latency_s = latency_s
        self._roles = dict(roles or {})
        self._is_dated = is_dated
        self._piece_delay_s = piece_delay_s
        self._counts: Counter[str] = Counter(calls=0, failures=0, disconnects=0, exhausted=0, refused=0)
        self._counted = anyio.Event()
        self.bodies: list[dict[str, Any]] = []
        """The body of every call, in the order they came."""
        self.headers: list[dict[str, str]] = []
        """The headers of every call, names in lower case."""

    @asynccontextmanager
    async def run(self, port: int = 0) -> AsyncIterator[str]:
        """Serve on a port, 0 for a free one; yields the base URL for `api_base`."""
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=port)
        async with listener, anyio.create_task_group() as group:
            group.start_soon(listener.serve, self._serve)
            yield f"http://127.0.0.1:{listener.extra(SocketAttribute.local_port)}/v1"
            group.cancel_scope.cancel()

    def stats(self) -> dict[str, Any]:
        """Calls, of these repeated, failed, broken off by the client, without a reply left, or refused as senseless."""
        return {
            **self._counts,
            "repeated": self._play.repeated,
            "by_role_and_task": dict(self._play.by_key),
            "remaining": self._play.remaining(),
        }

    async def reached(self, name: str, count: int) -> None:
        """Wait until a number of `stats` has come to `count`."""
        while self._counts[name] < count:
            await self._counted.wait()

    def _count(self, name: str) -> None:
        self._counts[name] += 1
        self._counted.set()
        self._counted = anyio.Event()

    async def _serve(self, stream: SocketStream) -> None:
        connection = h11.Connection(h11.SERVER)
        async with stream:
            try:
                while await self._exchange(stream, connection):
                    connection.start_next_cycle()
            except GONE:
                return

    async def _exchange(self, stream: SocketStream, connection: h11.Connection) -> bool:
        """One request and its answer; whether the connection can be used again."""
        request, body = await read_request(stream, connection)
        if request is None:
            return False
        answer = await self._answer(stream, connection, request, body)
        if answer is None or not answer.status:
            return False
        await write_answer(stream, connection, answer, self._piece_delay_s)
        if answer.hangs:
            await self._wait(stream, connection, math.inf)
        return answer.sent is None and connection.our_state is h11.DONE and connection.their_state is h11.DONE

    async def _answer(
        self, stream: SocketStream, connection: h11.Connection, request: h11.Request, body: bytes
    ) -> Answer | None:
        if request.method == b"GET" and request.target == b"/_stats":
            return Answer(200, json.dumps(self.stats()).encode())
        if request.method != b"POST" or not request.target.endswith(b"/chat/completions"):
            return failure(404, "not_found", "only POST …/chat/completions and GET /_stats are served here")
        self._count("calls")
        self.headers.append({name.decode(): value.decode() for name, value in request.headers})
        try:
            asked = json.loads(body)
            self.bodies.append(asked)
            if self._thinks:
                require_thoughts(asked["messages"])
            role = self._roles.get(asked["model"]) or role_of(asked["model"])
            place, item = self._reply(role, asked)
        except ScriptExhausted as problem:
            self._count("exhausted")
            return failure(400, "script_exhausted", str(problem))
        except (Unplayable, ValueError, LookupError, TypeError) as problem:
            self._count("refused")
            return failure(400, "invalid_request_error", f"{type(problem).__name__}: {problem}")
        if item.error is not None:
            self._count("failures")
        is_silent = item.error == "timed-out" and item.wire is None
        seconds = math.inf if is_silent else self._latency_s + item.delay_s
        return (
            answer_for(item, place, asked, is_dated=self._is_dated, thinks=self._thinks)
            if await self._wait(stream, connection, seconds)
            else None
        )

    def _reply(self, role: Role, asked: dict[str, Any]) -> tuple[int, ScriptedReply]:
        if role in self._answering:
            return len(self.bodies), self._answering[role](asked)
        return self._play.answer(role, task_of(asked["messages"]), asked["messages"])

    async def _wait(self, stream: SocketStream, connection: h11.Connection, seconds: float) -> bool:
        """Wait; false if the client went away meanwhile."""
        if not seconds:
            return True
        with anyio.move_on_after(seconds):
            try:
                while True:
                    connection.receive_data(await stream.receive(CHUNK_BYTES))
            except GONE:
                self._count("disconnects")
                return False
        return True


async def read_request(stream: SocketStream, connection: h11.Connection) -> tuple[h11.Request | None, bytes]:
    request: h11.Request | None = None
    body = bytearray()
    while True:
        event = connection.next_event()
        if event is h11.NEED_DATA:
            connection.receive_data(await stream.receive(CHUNK_BYTES))
        elif isinstance(event, h11.Request):
            request = event
        elif isinstance(event, h11.Data):
            body += event.data
        else:
            return (request, bytes(body)) if isinstance(event, h11.EndOfMessage) else (None, b"")


async def write_answer(
    stream: SocketStream, connection: h11.Connection, answer: Answer, piece_delay_s: float = 0.0
) -> None:
    if answer.pieces:
        await _write_pieces(stream, connection, answer, piece_delay_s)
        return
    headers = {"Content-Type": "application/json", "Content-Length": str(len(answer.body)), **answer.headers}
    head = connection.send(h11.Response(status_code=answer.status, headers=list(headers.items()))) or b""
    if answer.sent is not None:
        await stream.send(head + answer.body[: answer.sent])
        return
    body = connection.send(h11.Data(data=answer.body)) or b""
    await stream.send(head + body + (connection.send(h11.EndOfMessage()) or b""))


async def _write_pieces(stream: SocketStream, connection: h11.Connection, answer: Answer, piece_delay_s: float) -> None:
    """Chunked, each piece by itself; the end of the body is left out if the answer is cut short or hangs."""
    headers = {**answer.headers, "Transfer-Encoding": "chunked"}
    head = h11.Response(status_code=answer.status, headers=list(headers.items()))
    await stream.send(connection.send(head) or b"")
    for piece in answer.pieces:
        await anyio.sleep(piece_delay_s)
        await stream.send(connection.send(h11.Data(data=piece)) or b"")
    if answer.sent is None and not answer.hangs:
        await stream.send(connection.send(h11.EndOfMessage()) or b"")


async def _main(arguments: argparse.Namespace) -> None:
    items = [item for script in arguments.script for item in read_script(script)]
    server = LoopbackServer(items, latency_s=arguments.latency, state=arguments.state, thinks=arguments.thinks)
    async with server.run(arguments.port) as url:
        sys.stdout.write(f"{url}\n")
        sys.stdout.flush()
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            async for _ in signals:
                return


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("script", type=Path, nargs="+", help="played as if they were one file")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--state", type=Path, help="file that remembers what was answered, across restarts")
    parser.add_argument("--latency", type=float, default=0.0, metavar="S")
    parser.add_argument("--thinks", action="store_true", help="think aloud, and want it back")
    return parser.parse_args()


if __name__ == "__main__":
    anyio.run(_main, _arguments())
