"""Tier 2: a tunnel to a registry that is asked for another site on the same server."""

import os
import socket
import ssl
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import pytest
from anyio import to_thread

from orchestrator.domain.sandbox.network import NetworkDecision
from orchestrator.hands.network.allowlist import EgressAllowlist
from orchestrator.hands.network.egress_proxy import PROXY_SOCKET, EgressProxy, serve_proxy
from tests.running.hellos import ECH, hello, openssl_hello, records, server_names
from tests.running.index import loopback

HOST, EVIL = "packages.test", "evil.test"
RETRY = records(
    b"\2\0\0\x26\3\3" + bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c") + bytes(4)
)
HONEST, FRONTING = records(hello(server_names(HOST))), records(hello(server_names(EVIL)))


@dataclass
class Server:
    """A server of one visitor at a time: `answers` each go out after another piece came in; `came` is all that came."""

    port: int
    answers: tuple[bytes, ...] = ()
    came: bytes = b""
    names: list[str | None] = field(default_factory=list)


def _answer(server: Server, visitor: socket.socket) -> None:
    answers = iter(server.answers)
    while chunk := visitor.recv(65536):
        server.came += chunk
        visitor.sendall(next(answers, b"\x15\3\3\0\2\2\x28"))


@contextmanager
def listening(*answers: bytes, tls: ssl.SSLContext | None = None) -> Iterator[Server]:
    """Listen on loopback while the block lasts; with `tls` say `hello` to whoever has shaken hands."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = Server(listener.getsockname()[1], answers)
        if tls:
            tls.sni_callback = lambda _socket, name, _context: server.names.append(name)

        def serve() -> None:
            while True:
                try:
                    visitor, _ = listener.accept()
                except OSError:
                    return
                with visitor:
                    visitor.settimeout(20)
                    try:
                        if tls is None:
                            _answer(server, visitor)
                        else:
                            with tls.wrap_socket(visitor, server_side=True) as secured:
                                secured.sendall(b"hello")
                    except OSError:
                        continue

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(20)


async def resolve(_host: str, _port: int) -> Sequence[str]:
    return ["127.0.0.1"]


def proxy(port: int, *, is_plain: bool = False, hello_s: float = 20.0, host: str = HOST) -> EgressProxy:
    place = frozenset({f"{host}:{port}"})
    return EgressProxy(EgressAllowlist(place, place, place if is_plain else frozenset()), 1_000_000, resolve, hello_s)


def _tunnel(folder: Path, port: int, host: str = HOST) -> socket.socket:
    """A connection that the proxy has opened to the host."""
    handle = os.open(folder, os.O_RDONLY)
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(20)
    try:
        client.connect(f"/proc/self/fd/{handle}/{PROXY_SOCKET}")
    finally:
        os.close(handle)
    client.sendall(f"CONNECT {host}:{port} HTTP/1.1\r\n\r\n".encode())
    assert client.recv(4096).startswith(b"HTTP/1.1 200 ")
    return client


def say(client: socket.socket, *pieces: bytes) -> bytes:
    """Send the pieces, each after an answer to the one before; return all answers."""
    told = b""
    with client:
        for piece in pieces:
            client.sendall(piece)
            if not (answer := client.recv(65536)):
                break
            told += answer
    return told


async def said(guard: EgressProxy, folder: Path, port: int, *pieces: bytes, host: str = HOST) -> bytes:
    async with serve_proxy(folder, guard):
        return await to_thread.run_sync(lambda: say(_tunnel(folder, port, host), *pieces))


def refusals(guard: EgressProxy) -> list[NetworkDecision]:
    return [decision for decision in guard.decisions if not decision.allowed]


@pytest.mark.attack(60)
@pytest.mark.parametrize(
    ("greeting", "why"),
    [
        (openssl_hello(EVIL), "asks for another server (SNI): 'evil.test'"),
        (openssl_hello(None), "names no server"),
        (records(hello(server_names(EVIL)), 7), "asks for another server"),
        (records(hello(server_names(HOST), server_names(EVIL))), "one extension twice"),
        (records(hello(server_names(HOST, EVIL))), "asks for another server"),
        (records(hello(server_names(HOST), (ECH, bytes(200)))), "hides a server's name"),
        (b"GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n", "no TLS handshake"),
        (b"\x80\x2e\1\3\1" + bytes(50), "no TLS handshake"),
        (records(b"\1\xff\xff\xff" + bytes(90_000)), "within 65,536 bytes"),
    ],
    ids=["other", "none", "fragments", "twice", "two names", "ech", "http", "ssl2", "endless"],
)
async def test_a_tunnel_to_a_registry_leads_to_no_other_site(tmp_path: Path, greeting: bytes, why: str) -> None:
    with listening() as server:
        with socket.create_connection(("127.0.0.1", server.port)) as direct:  # control: nothing else would stop it
            assert await to_thread.run_sync(say, direct, greeting)
        with anyio.move_on_after(5):  # the rest of it may still be on its way
            while len(server.came) < len(greeting):  # noqa: ASYNC110  a thread fills it
                await anyio.sleep(0.01)
        assert server.came.startswith(greeting[:1000])
        server.came = b""
        guard = proxy(server.port)
        with suppress(ConnectionError):  # the proxy may have left with something unread
            assert await said(guard, tmp_path, server.port, greeting) == b""
    assert server.came == b""
    (refused,) = guard.decisions
    assert not refused.allowed
    assert (refused.host, refused.port) == (HOST, server.port)
    assert why in refused.reason


@pytest.mark.attack(60)
async def test_a_hello_that_is_asked_for_again_names_no_other_site_either(tmp_path: Path) -> None:
    with listening(RETRY) as server:
        guard = proxy(server.port)
        early = records(b"\1", kind=0x14) + records(b"early data", kind=0x17)
        assert await said(guard, tmp_path, server.port, HONEST, early + FRONTING) == RETRY
        assert server.came == HONEST
        assert "asks for another server" in refusals(guard)[0].reason
        honest = proxy(server.port)
        assert (await said(honest, tmp_path, server.port, HONEST, early + HONEST)).startswith(RETRY)
    assert server.came == HONEST + HONEST + early + HONEST
    assert refusals(honest) == []


@pytest.mark.attack(60)
async def test_a_second_hello_that_comes_before_it_is_asked_for_does_not_slip_through(tmp_path: Path) -> None:
    with listening(RETRY) as server:
        guard = proxy(server.port)
        assert await said(guard, tmp_path, server.port, HONEST + FRONTING) == RETRY
    assert EVIL.encode() not in server.came
    assert "asks for another server" in refusals(guard)[0].reason


@pytest.mark.attack(60)
async def test_a_registry_of_plain_http_is_no_way_to_another_site_by_tls(tmp_path: Path) -> None:
    with listening() as server:
        guard = proxy(server.port, is_plain=True)
        assert await said(guard, tmp_path, server.port, FRONTING) == b""
    assert server.came == b""
    assert len(refusals(guard)) == 1


@pytest.mark.attack(60)
async def test_a_greeting_that_trickles_in_is_given_up_in_time(tmp_path: Path) -> None:
    with listening() as server:
        guard = proxy(server.port, hello_s=0.5)

        def trickle() -> bytes:
            with _tunnel(tmp_path, server.port) as client:
                for byte in HONEST[:4]:
                    client.send(bytes([byte]))
                return client.recv(100)

        async with serve_proxy(tmp_path, guard):
            with anyio.fail_after(10):
                assert await to_thread.run_sync(trickle) == b""
    assert server.came == b""
    assert [refused.reason for refused in refusals(guard)] == ["no whole TLS greeting came within 0.5 s"]


def context_without_certificate(protocol: int) -> ssl.SSLContext:
    """TLS 1.2 in which nobody shows who they are."""
    context = ssl.SSLContext(protocol)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    if protocol == ssl.PROTOCOL_TLS_CLIENT:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_ciphers("AECDH-AES128-SHA:@SECLEVEL=0")
    return context


@pytest.mark.parametrize(("host", "name"), [(HOST, HOST), (HOST, HOST.upper()), ("127.0.0.1", None)])
async def test_a_client_that_asks_for_the_registry_shakes_hands_with_it(
    tmp_path: Path, host: str, name: str | None
) -> None:
    with listening(tls=context_without_certificate(ssl.PROTOCOL_TLS_SERVER)) as server:
        guard = proxy(server.port, host=host)

        def shake() -> bytes:
            context = context_without_certificate(ssl.PROTOCOL_TLS_CLIENT)
            with context.wrap_socket(_tunnel(tmp_path, server.port, host), server_hostname=name) as client:
                return client.recv(100)

        async with serve_proxy(tmp_path, guard):
            assert await to_thread.run_sync(shake) == b"hello"
    assert server.names == [name and name.lower()] or server.names == [name]
    (decision,) = guard.decisions
    assert decision.allowed
    assert min(decision.sent_bytes, decision.received_bytes) > 100


async def test_a_registry_that_the_user_has_configured_as_plain_http_needs_no_tls(tmp_path: Path) -> None:
    with loopback() as served:
        guard = proxy(served.port, is_plain=True)
        request = f"GET / HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n".encode()
        assert b"200 OK" in await said(guard, tmp_path, served.port, request)
    assert refusals(guard) == []
