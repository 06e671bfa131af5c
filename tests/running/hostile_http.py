"""A server on 127.0.0.1 that answers every request with whatever bytes a test wants, as long as somebody reads them."""

import gzip
import zlib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import chain, repeat

import anyio
from anyio.abc import SocketAttribute, SocketStream

GONE = (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError)
MANY = 4_096
"""Pieces of an answer that is meant to have no end: hundreds of megabytes, so that a failing test ends."""


@dataclass(frozen=True)
class Flood:
    """An answer: its head, its pieces, and the seconds between them; the connection is closed after the last.

    A `status` of 0 sends nothing at all.
    """

    status: int = 200
    headers: tuple[str, ...] = ("Content-Type: application/json",)
    pieces: tuple[bytes, ...] = ()
    endless: bytes = b""
    pause_s: float = 0.0

    def parts(self) -> Iterator[bytes]:
        """Give all bytes of the answer, piece by piece."""
        if not self.status:
            return iter(())
        lines = "\r\n".join((f"HTTP/1.1 {self.status} Some", *self.headers, "Connection: close"))
        return chain([f"{lines}\r\n\r\n".encode()], self.pieces, repeat(self.endless, MANY) if self.endless else ())


class HostileServer:
    """Counts the bytes that it could send and the calls that it got."""

    def __init__(self, *floods: Flood) -> None:
        self._floods = list(floods)
        self.calls = 0
        self.sent = 0

    @asynccontextmanager
    async def run(self) -> AsyncIterator[str]:
        """Serve on a free port; yields the base URL. The last answer is given again and again."""
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
        async with listener, anyio.create_task_group() as group:
            group.start_soon(listener.serve, self._serve)
            yield f"http://127.0.0.1:{listener.extra(SocketAttribute.local_port)}/v1"
            group.cancel_scope.cancel()

    async def _serve(self, stream: SocketStream) -> None:
        async with stream:
            try:
                await _read_request(stream)
                flood = self._floods[min(self.calls, len(self._floods) - 1)]
                self.calls += 1
                for part in flood.parts():
                    await stream.send(part)
                    self.sent += len(part)
                    await anyio.sleep(flood.pause_s)
            except GONE:
                return


async def _read_request(stream: SocketStream) -> None:
    head = b""
    while b"\r\n\r\n" not in head:
        head += await stream.receive()
    head, _, body = head.partition(b"\r\n\r\n")
    lengths = [int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    missing = sum(lengths) - len(body)
    while missing > 0:
        missing -= len(await stream.receive())


def gzip_bomb(megabytes: int) -> bytes:
    """Return so many megabytes of a JSON text, compressed to a thousandth."""
    return gzip.compress(b'{"x": "' + b"a" * (megabytes * 1_000_000), compresslevel=9)


def deflate_bomb(megabytes: int) -> bytes:
    """Return the same as deflate has it."""
    return zlib.compress(b'{"x": "' + b"a" * (megabytes * 1_000_000), level=9)
