"""The opening of a tunnel: nothing goes on to the server before the client has named, in the clear, the right one."""

from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import anyio
from anyio.abc import ByteStream

from orchestrator.hands.client_hello import (
    BEFORE_A_SECOND_HELLO,
    BEFORE_THE_ANSWER,
    HANDSHAKE,
    MOST_BYTES,
    HelloRefused,
    is_retry_request,
    read_message,
    require_server_name,
)

HELLO_S = 30.0
_CHUNK_BYTES = 16 * 1024

PassOn = Callable[[bytes], Awaitable[None]]
"""Sends bytes to one side, and counts them."""


@dataclass
class TunnelOpening:
    """Leads a tunnel up to where its bytes need no reading any more.

    `host` is that of the CONNECT, an address without brackets. With `is_plain` the client may speak something else
    than TLS; TLS is held to the host there as well. `hello_s` bounds each of the client's greetings, in seconds.
    """

    client: ByteStream
    server: ByteStream
    to_server: PassOn
    to_client: PassOn
    host: str
    is_plain: bool
    hello_s: float = HELLO_S

    async def lead(self, rest: bytes) -> bytes:
        """Pass on both sides' greetings; return what the client has sent beyond that, which is still to be sent.

        A server that asks for another greeting gets none that names another host: some servers obey the second.

        Raises:
            HelloRefused: the client greets somebody else, or not in time; it was not passed on.
            anyio.EndOfStream: one side ended before its greeting did.
        """
        rest = rest or await self._first_bytes()
        if self.is_plain and rest[0] != HANDSHAKE:
            return rest
        rest = await self._pass_hello(rest)
        if await self._is_asked_again():
            rest = await self._pass_hello(rest, BEFORE_A_SECOND_HELLO)
        return rest

    async def _first_bytes(self) -> bytes:
        with _fail_after(self.hello_s):
            return await self.client.receive(_CHUNK_BYTES)

    async def _pass_hello(self, found: bytes, skipped: Collection[int] = ()) -> bytes:
        with _fail_after(self.hello_s):
            while (message := read_message(found, skipped)) is None:
                _require_size(found)
                found += await self.client.receive(_CHUNK_BYTES)
        require_server_name(message.content, self.host)
        await self.to_server(found[: message.end])
        return found[message.end :]

    async def _is_asked_again(self) -> bool:
        """Pass on the server's first message. The client is not heard meanwhile: it could greet before it is asked."""
        found = b""
        while True:
            chunk = await self.server.receive(_CHUNK_BYTES)
            await self.to_client(chunk)
            found += chunk
            try:
                _require_size(found)
                message = read_message(found, BEFORE_THE_ANSWER)
            except HelloRefused:  # a server that answers something else does not go on with a handshake
                return False
            if message is not None:
                return is_retry_request(message.content)


def _require_size(found: bytes) -> None:
    if len(found) > MOST_BYTES:
        raise HelloRefused(f"no whole TLS message came within {MOST_BYTES:,} bytes")


@contextmanager
def _fail_after(seconds: float) -> Iterator[None]:
    try:
        with anyio.fail_after(seconds):
            yield
    except TimeoutError as error:
        raise HelloRefused(f"no whole TLS greeting came within {seconds:g} s") from error
