"""The only way out of a sandbox at tier 2: a host-side proxy on a unix socket that answers CONNECT, and little of it.

It decides by exact host and port, resolves each name once, dials exactly what it looked at, and counts bytes. Of what
it tunnels it reads the greeting alone: a TLS client has to ask for the host of the CONNECT, and where a registry is not
configured for plain http there has to be TLS.
"""

import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import anyio
from anyio.abc import ByteStream, SocketListener, SocketStream, TaskGroup

from orchestrator.domain.sandbox.network import NetworkDecision
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.hands.network.allowlist import EgressAllowlist, split_host_port, strip_brackets
from orchestrator.hands.network.client_hello import HelloRefused
from orchestrator.hands.network.tls_handshake import HELLO_TIMEOUT_S, SendBytes, TunnelHandshake
from worktrees.safety.descriptors import hold_descriptor

PROXY_SOCKET = "proxy.sock"
_HEAD_BYTES = 8 * 1024
_HEAD_S = 10.0
_DIAL_S = 15.0
_LEAVE_S = 1.0
_CHUNK_BYTES = 64 * 1024
_MOST_TUNNELS = 64
_FULL_PAUSE_S = 0.1
_MOST_DECISIONS = 100
_HOST_CHARS = 255
_CONNECT = compile_lazily(r"CONNECT (\S{1,512}) HTTP/1\.[01]")
_BROKEN = (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream)

ResolveHost = Callable[[str, int], Awaitable[Sequence[str]]]
"""Finds the addresses of a host; raises OSError if there are none."""


class _Refused(Exception):
    """The request is refused; the text says why."""


@dataclass
class _Traffic:
    """Bytes moved by one tunnel."""

    sent: int = 0
    received: int = 0


@dataclass
class EgressProxy:
    """The proxy of one command.

    `budget_bytes` counts both directions of all tunnels. `hello_timeout_s` is how long a client may take to name its
    server.
    """

    allowlist: EgressAllowlist
    budget_bytes: int
    resolve: ResolveHost
    hello_timeout_s: float = HELLO_TIMEOUT_S
    _spent: int = 0
    _decisions: dict[tuple[str, int, bool, str], NetworkDecision] = field(default_factory=dict)

    @property
    def decisions(self) -> tuple[NetworkDecision, ...]:
        """The decisions so far; complete when nothing is being served any more."""
        return tuple(self._decisions.values())

    async def serve_client(self, client: ByteStream) -> None:
        """Answer one connection from inside, to its end."""
        async with client:
            with suppress(*_BROKEN):
                await self._answer(client)

    async def _answer(self, client: ByteStream) -> None:
        host, port = "-", 0
        try:
            line, rest = await _read_request_head(client)
            host, port = _parse_target(line)
            addresses = await self._resolve_target(host, port)
        except _Refused as refused:
            self._record_decision(host, port, str(refused))
            await _send_response(client, "403 Forbidden", str(refused))
            return
        try:
            server = await _dial(addresses, port)
        except OSError as error:
            self._record_decision(host, port, f"it did not answer: {error}", is_allowed=True)
            await _send_response(client, "502 Bad Gateway", f"{host}:{port} did not answer: {error}")
            return
        await self._run_tunnel(client, server, (host, port), rest)

    async def _resolve_target(self, host: str, port: int) -> Sequence[str]:
        """Return the addresses to dial, in order.

        Raises:
            _Refused: it may not be reached.
        """
        if objection := self.allowlist.find_name_objection(host, port):
            raise _Refused(objection)
        if self._spent >= self.budget_bytes:
            raise _Refused(self._describe_exhaustion())
        try:
            with anyio.fail_after(_DIAL_S):
                addresses = await self.resolve(strip_brackets(host), port)
        except (OSError, UnicodeError) as error:
            raise _Refused(f"its name does not resolve: {error}") from error
        for address in addresses:
            if objection := self.allowlist.find_address_objection(address, host, port):
                raise _Refused(objection)
        return addresses

    async def _run_tunnel(self, client: ByteStream, server: SocketStream, target: tuple[str, int], rest: bytes) -> None:
        traffic, is_refused = _Traffic(), False

        async def send_to_server(chunk: bytes) -> None:
            traffic.sent += self._spend(chunk)
            await server.send(chunk)

        async def send_to_client(chunk: bytes) -> None:
            traffic.received += self._spend(chunk)
            await client.send(chunk)

        handshake = TunnelHandshake(
            *(client, server, send_to_server, send_to_client),
            strip_brackets(target[0]),
            self.allowlist.is_plaintext_allowed(*target),
            self.hello_timeout_s,
        )
        try:
            async with server:
                await client.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
                rest = await handshake.relay_handshake(rest)
                await self._relay((client, server, send_to_server, rest), (server, client, send_to_client, b""))
        except (_Refused, HelloRefused) as refused:
            is_refused = True
            self._record_decision(*target, str(refused))
        finally:
            if traffic.sent or traffic.received or not is_refused:
                self._record_decision(*target, is_allowed=True, traffic=traffic)

    async def _relay(self, *directions: tuple[ByteStream, ByteStream, SendBytes, bytes]) -> None:
        """Relay both directions until both have ended: from where, to where and how, and what was read already.

        Raises:
            _Refused: the bytes that the command may move are used up.
        """
        refusals: list[_Refused] = []
        async with anyio.create_task_group() as group:

            async def relay_direction(source: ByteStream, sink: ByteStream, send: SendBytes, first: bytes) -> None:
                with suppress(*_BROKEN):
                    try:
                        await send(first or await source.receive(_CHUNK_BYTES))
                        while True:
                            await send(await source.receive(_CHUNK_BYTES))
                    except _Refused as refused:
                        refusals.append(refused)
                        group.cancel_scope.cancel()
                with suppress(*_BROKEN):
                    await sink.send_eof()

            for direction in directions:
                group.start_soon(relay_direction, *direction)
        if refusals:
            raise refusals[0]

    def _spend(self, chunk: bytes) -> int:
        """Count bytes before they are moved; return how many.

        Raises:
            _Refused: that would be more than the command may move.
        """
        if self._spent + len(chunk) > self.budget_bytes:
            self._spent = self.budget_bytes
            raise _Refused(self._describe_exhaustion())
        self._spent += len(chunk)
        return len(chunk)

    def _describe_exhaustion(self) -> str:
        return f"the command has moved its {self.budget_bytes:,} bytes (registry_mb under [hands])"

    def _record_decision(
        self, host: str, port: int, reason: str = "", *, is_allowed: bool = False, traffic: _Traffic | None = None
    ) -> None:
        """Record a decision; beyond a limit they are summed up."""
        key = (to_one_line(host, _HOST_CHARS), port, is_allowed, to_one_line(reason))
        if key not in self._decisions and len(self._decisions) >= _MOST_DECISIONS:
            key = ("others", 0, is_allowed, "there were too many to list")
        added = traffic or _Traffic()
        new = NetworkDecision(host=key[0], port=key[1], allowed=is_allowed, reason=key[3], times=0)
        earlier = self._decisions.get(key, new)
        sent, received = earlier.sent_bytes + added.sent, earlier.received_bytes + added.received
        changes = {"sent_bytes": sent, "received_bytes": received, "times": earlier.times + 1}
        self._decisions[key] = earlier.model_copy(update=changes)


async def resolve_addresses(host: str, port: int) -> Sequence[str]:
    """Return the addresses of a host as this machine resolves it.

    Raises:
        OSError: there are none.
    """
    found = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(entry[4][0]) for entry in found))


@asynccontextmanager
async def serve_proxy(folder: Path, proxy: EgressProxy) -> AsyncIterator[None]:
    """Serve `proxy` on the socket `PROXY_SOCKET` in the existing directory `folder` while the block lasts.

    Every tunnel is closed and every decision made when the block has ended.

    Raises:
        OSError: there can be no socket.
    """
    # By way of a descriptor: a socket's path may have no more than 107 bytes.
    with hold_descriptor(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)) as handle:
        listener = await anyio.create_unix_listener(f"/proc/self/fd/{handle}/{PROXY_SOCKET}", mode=0o666)
    tasks = anyio.create_task_group()
    await tasks.__aenter__()
    try:
        tasks.start_soon(_accept_clients, listener, proxy, tasks)
        yield
    finally:
        tasks.cancel_scope.cancel()
        try:
            await tasks.__aexit__(None, None, None)
        finally:
            with anyio.CancelScope(shield=True):
                await listener.aclose()


async def _accept_clients(listener: SocketListener, proxy: EgressProxy, tasks: TaskGroup) -> None:
    """Accept no more connections than can be served: those waiting in the kernel cost us no descriptor."""
    free_tunnels = anyio.Semaphore(_MOST_TUNNELS)

    async def serve_and_release(client: SocketStream) -> None:
        try:
            await proxy.serve_client(client)
        finally:
            free_tunnels.release()

    while True:
        await free_tunnels.acquire()
        try:
            client = await listener.accept()
        except anyio.BrokenResourceError:  # we have no descriptor left for it
            free_tunnels.release()
            await anyio.sleep(_FULL_PAUSE_S)
        else:
            tasks.start_soon(serve_and_release, client)


async def _read_request_head(client: ByteStream) -> tuple[str, bytes]:
    """Read a request; return its first line and what came after its head."""
    found = b""
    try:
        with anyio.fail_after(_HEAD_S):
            while b"\r\n\r\n" not in found:
                if len(found) > _HEAD_BYTES:
                    raise _Refused("the request's head is too long")
                found += await client.receive(4096)
    except TimeoutError as error:
        raise _Refused("no whole request came in time") from error
    head, _, rest = found.partition(b"\r\n\r\n")
    return head.partition(b"\r\n")[0].decode("latin-1"), rest


def _parse_target(line: str) -> tuple[str, int]:
    found = _CONNECT.fullmatch(line)
    if found is None:
        raise _Refused(f"only CONNECT host:port is answered here, not {to_one_line(line, 100)!r}")
    target = split_host_port(found[1])
    if target is None:
        raise _Refused(f"{to_one_line(found[1], 100)!r} is no host:port")
    return target


async def _dial(addresses: Sequence[str], port: int) -> SocketStream:
    last_error = OSError("no address")
    for address in addresses:
        try:
            with anyio.fail_after(_DIAL_S):
                return await anyio.connect_tcp(address, port)
        except OSError as error:
            last_error = error
    raise last_error


async def _send_response(client: ByteStream, status: str, reason: str) -> None:
    body = f"{to_one_line(reason)}\n".encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
    await client.send(f"{head}Connection: close\r\n\r\n".encode() + body)
    await client.send_eof()
    with anyio.move_on_after(_LEAVE_S):  # what is closed with something unread in it takes the answer along
        for _ in range(_HEAD_BYTES // 1024):
            await client.receive(_CHUNK_BYTES)
