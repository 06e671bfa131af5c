"""Read the server name from the first message of a TLS connection (RFC 8446 section 4.1.2, RFC 6066 section 3)."""

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_address

HANDSHAKE_RECORD = 0x16
UNRECOGNIZED_NAME_ALERT = bytes((0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 112))
"""A fatal alert as a TLS client understands it: the server name is refused."""

_CLIENT_HELLO = 1
_SERVER_NAME, _ENCRYPTED_HELLO = 0, 0xFE0D
_HOST_NAME = 0
_MAX_RECORD_BYTES = 16 * 1024
_MAX_HELLO_BYTES = 64 * 1024
_HTTPS_PORT = 443


class MalformedHelloError(ValueError):
    """The bytes are no client hello."""


class ServerNameError(Exception):
    """A connection asks for another server than the one it was granted for; the text says how."""


@dataclass(frozen=True)
class ClientHello:
    """State which server a TLS client asks for: `server_name` in lower case, None if it names none.

    `has_encrypted_hello` is True if a second name may be hidden in the encrypted client hello extension.
    """

    server_name: str | None
    has_encrypted_hello: bool


def admits_opening(received: bytes, host: str, port: int) -> bool:
    """Return True if the bytes a client sends first are meant for `host`; False if more are needed to tell.

    A client hello must name `host`. Anything else passes only outside of port 443, for registries without TLS.
    `host` is in lower case, an address without brackets.

    Raises:
        ServerNameError: it asks for another server, or does not tell for which.
    """
    if not received:
        return False
    if received[0] != HANDSHAKE_RECORD and port != _HTTPS_PORT:
        return True
    try:
        hello = parse_client_hello(received)
    except MalformedHelloError as error:
        raise ServerNameError(str(error)) from error
    if hello is None:
        if len(received) > _MAX_HELLO_BYTES:
            raise ServerNameError("its client hello is too long")
        return False
    if hello.has_encrypted_hello:
        raise ServerNameError("it hides the server's name (encrypted client hello)")
    if hello.server_name is None and not _is_address(host):
        raise ServerNameError("it names no server (SNI)")
    if hello.server_name not in (None, host):
        raise ServerNameError(f"it asks for the server {hello.server_name} (SNI)")
    return True


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def parse_client_hello(received: bytes) -> ClientHello | None:
    """Return the client hello that `received` begins with; None if more bytes are needed to read it.

    Raises:
        MalformedHelloError: the bytes do not begin with a client hello.
    """
    message = bytearray()
    for payload in _split_records(received):
        message += payload
        if message[0] != _CLIENT_HELLO:
            raise MalformedHelloError("its first message is no client hello")
        if len(message) >= 4 and len(message) >= (end := 4 + int.from_bytes(message[1:4])):
            return _read_hello(_Reader(bytes(message[4:end])))
    return None


def _split_records(received: bytes) -> Iterator[bytes]:
    """Yield the payloads of all complete handshake records."""
    start = 0
    while start < len(received):
        if received[start] != HANDSHAKE_RECORD or received[start + 1 : start + 2] not in (b"", b"\x03"):
            raise MalformedHelloError("it does not speak TLS")
        if len(received) < start + 5:
            return
        size = int.from_bytes(received[start + 3 : start + 5])
        if not 0 < size <= _MAX_RECORD_BYTES:
            raise MalformedHelloError("a TLS record has an impossible size")
        if len(received) < start + 5 + size:
            return
        yield received[start + 5 : start + 5 + size]
        start += 5 + size


@dataclass
class _Reader:
    """Take fields one after another from the front of `rest`."""

    rest: bytes

    def take(self, size: int) -> bytes:
        if len(self.rest) < size:
            raise MalformedHelloError("the client hello is cut short")
        taken, self.rest = self.rest[:size], self.rest[size:]
        return taken

    def take_number(self, size: int) -> int:
        return int.from_bytes(self.take(size))

    def take_vector(self, length_bytes: int) -> bytes:
        return self.take(self.take_number(length_bytes))


def _read_hello(hello: _Reader) -> ClientHello:
    hello.take(2 + 32)  # version and random
    hello.take_vector(1)  # session id
    hello.take_vector(2)  # cipher suites
    hello.take_vector(1)  # compression methods
    extensions = _read_extensions(hello)
    name = extensions.get(_SERVER_NAME)
    return ClientHello(
        server_name=None if name is None else _read_host_name(name),
        has_encrypted_hello=_ENCRYPTED_HELLO in extensions,
    )


def _read_extensions(hello: _Reader) -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    if not hello.rest:
        return found
    listed = _Reader(hello.take_vector(2))
    while listed.rest:
        kind = listed.take_number(2)
        if kind in found:
            raise MalformedHelloError("the client hello has an extension twice")
        found[kind] = listed.take_vector(2)
    return found


def _read_host_name(extension: bytes) -> str:
    """Return the one host name of a server name extension."""
    names = _Reader(_Reader(extension).take_vector(2))
    kind, name = names.take_number(1), names.take_vector(2)
    if kind != _HOST_NAME or names.rest or not name:
        raise MalformedHelloError("the client hello does not name exactly one host")
    try:
        return name.decode("ascii").lower()
    except UnicodeDecodeError as error:
        raise MalformedHelloError("the server name is not plain ASCII") from error
