"""The opening of a tunnel: nothing goes on to the server before the client has named, in the clear, the right one."""

from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import anyio
from anyio.abc import ByteStream

from orchestrator.hands.network import client_hello
from orchestrator.hands.network.client_hello import HelloRefused, check_server_name

HELLO_TIMEOUT_S = 30.0
_CHUNK_BYTES = 16 * 1024

SendBytes = Callable[[bytes], Awaitable[None]]
"""Sends bytes to one side, and counts them."""


@dataclass
class TunnelHandshake:
    """Relays the start of a tunnel until its bytes need no reading any more.

    `host` is that of the CONNECT, an address without brackets. With `is_plain` the client may use another protocol than
    TLS; if it uses TLS, that must name the host as well. `hello_timeout_s` bounds each of the client's hellos.
    """

    client: ByteStream
    server: ByteStream
    send_to_server: SendBytes
    send_to_client: SendBytes
    host: str
    is_plain: bool
    hello_timeout_s: float = HELLO_TIMEOUT_S

    async def relay_handshake(self, rest: bytes) -> bytes:
        """Relay both sides' hellos; return the bytes that the client has sent beyond them, which are still to be sent.

        A second hello that the server asks for must name the same host: some servers obey the second one.

        Raises:
            HelloRefused: the client's hello names another host or is late; it was not passed on.
            anyio.EndOfStream: one side ended before its hello did.
        """
        if not rest:
            with _refuse_after(self.hello_timeout_s):
                rest = await self.client.receive(_CHUNK_BYTES)
        if self.is_plain and rest[0] != client_hello.HANDSHAKE_RECORD:
            return rest
        rest = await self._relay_hello(rest)
        if await self._relay_server_hello():
            rest = await self._relay_hello(rest, client_hello.RECORDS_BEFORE_SECOND_HELLO)
        return rest

    async def _relay_hello(self, found: bytes, skipped: Collection[int] = ()) -> bytes:
        with _refuse_after(self.hello_timeout_s):
            while (message := client_hello.parse_handshake_message(found, skipped)) is None:
                _check_size(found)
                found += await self.client.receive(_CHUNK_BYTES)
        check_server_name(message.content, self.host)
        await self.send_to_server(found[: message.end])
        return found[message.end :]

    async def _relay_server_hello(self) -> bool:
        """Relay the server's first message; return True if it asks for another hello.

        The client is not read meanwhile: it could send its second hello before it is asked for.
        """
        found = b""
        while True:
            chunk = await self.server.receive(_CHUNK_BYTES)
            await self.send_to_client(chunk)
            found += chunk
            try:
                _check_size(found)
                message = client_hello.parse_handshake_message(found, client_hello.RECORDS_BEFORE_SERVER_HELLO)
            except HelloRefused:  # a server that answers something else does not go on with a handshake
                return False
            if message is not None:
                return client_hello.is_hello_retry_request(message.content)


def _check_size(found: bytes) -> None:
    if len(found) > client_hello.MAX_HELLO_BYTES:
        raise HelloRefused(f"no whole TLS message came within {client_hello.MAX_HELLO_BYTES:,} bytes")


@contextmanager
def _refuse_after(seconds: float) -> Iterator[None]:
    try:
        with anyio.fail_after(seconds):
            yield
    except TimeoutError as error:
        raise HelloRefused(f"no whole TLS greeting came within {seconds:g} s") from error
