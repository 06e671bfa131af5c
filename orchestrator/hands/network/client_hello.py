"""Read what TLS says in the clear before it encrypts: the server that a client asks for, a server's wish to ask again.

Strict on purpose: a message that two readers could read differently is refused. Pure.
"""

from collections.abc import Collection, Iterator
from hashlib import sha256
from ipaddress import ip_address
from typing import NamedTuple

HANDSHAKE_RECORD = 0x16
"""The first byte of whatever begins with a TLS handshake; no text protocol begins with it."""
MAX_HELLO_BYTES = 64 * 1024
"""The most bytes that one side may send until its first handshake message is whole."""
RECORDS_BEFORE_SECOND_HELLO = frozenset({0x14, 0x17})
"""Records that a client may send between its first and its second hello: a change of ciphers, early data."""
RECORDS_BEFORE_SERVER_HELLO = frozenset({0x15})
"""Records that a server may send before its first message: warnings."""
_RECORD_HEAD, _MESSAGE_HEAD = 5, 4
_MOST_RECORD_BYTES = 16 * 1024 + 256
_CLIENT_HELLO, _SERVER_HELLO = 1, 2
_VERSION_BYTES, _RANDOM_BYTES = 2, 32
_SERVER_NAME, _HOST_NAME = 0, 0
_HIDING = frozenset({0xFE0D, 0xFFCE})
"""The extensions encrypted_client_hello and its predecessor encrypted_server_name: a second hello inside the first."""
_RETRY_RANDOM = sha256(b"HelloRetryRequest").digest()
"""The random value that makes a ServerHello a HelloRetryRequest (RFC 8446, 4.1.3)."""


class HelloRefused(Exception):
    """A handshake that this module does not accept; the text says why."""


class HandshakeMessage(NamedTuple):
    """One handshake message with its head; it ends after `end` bytes of the stream."""

    content: bytes
    end: int


def parse_handshake_message(stream: bytes, skipped: Collection[int] = ()) -> HandshakeMessage | None:
    """Return the first handshake message of a stream of TLS records, or None while it is not whole.

    Records of a kind in `skipped` may stand before it.

    Raises:
        HelloRefused: these are other bytes, or a client has sent more than this message in its last record.
    """
    message, at = b"", 0
    while len(stream) > at:
        _check_record(stream[at : at + _RECORD_HEAD], () if message else skipped)
        end = at + _RECORD_HEAD + int.from_bytes(stream[at + 3 : at + _RECORD_HEAD])
        if len(stream) < max(end, at + _RECORD_HEAD):
            return None
        if stream[at] == HANDSHAKE_RECORD:
            message += stream[at + _RECORD_HEAD : end]
            if whole := _get_whole_message(message):
                return HandshakeMessage(whole, end)
        at = end
    return None


def check_server_name(message: bytes, host: str) -> None:
    """Refuse a ClientHello unless the only server it names is `host` (lower case, an address without brackets).

    An address may be asked for without a name, since none can stand for it.

    Raises:
        HelloRefused: it names another server, none or a hidden one, or is no ClientHello.
    """
    names = list(_parse_server_names(message))
    if not names and _is_address(host):
        return
    if not names:
        raise HelloRefused("the TLS client names no server (SNI), so nobody can tell whom it asks for")
    for name in names:
        if name.lower().removesuffix(".") != host:
            raise HelloRefused(f"the TLS client asks for another server (SNI): {name[:255]!r}")


def is_hello_retry_request(message: bytes) -> bool:
    """Return True if a server's first handshake message asks the client for another ClientHello."""
    if message[:1] != bytes([_SERVER_HELLO]):
        return False
    start = _MESSAGE_HEAD + _VERSION_BYTES
    return message[start : start + _RANDOM_BYTES] == _RETRY_RANDOM


def _check_record(head: bytes, skipped: Collection[int]) -> None:
    """Refuse the head of a record, or its beginning, that cannot belong to a handshake."""
    if head[0] != HANDSHAKE_RECORD and head[0] not in skipped:
        raise HelloRefused("what was sent is no TLS handshake")
    if head[1:2] not in (b"", b"\3"):
        raise HelloRefused("what was sent is no TLS record")
    if len(head) == _RECORD_HEAD and not 0 < int.from_bytes(head[3:]) <= _MOST_RECORD_BYTES:
        raise HelloRefused("a TLS record has an impossible size")


def _get_whole_message(stream_part: bytes) -> bytes | None:
    """Return the message once it is whole. A client may send nothing behind it: it has to wait for the server."""
    size = _MESSAGE_HEAD + int.from_bytes(stream_part[1:_MESSAGE_HEAD])
    if len(stream_part) < max(size, _MESSAGE_HEAD):
        return None
    if len(stream_part) > size and stream_part[0] != _SERVER_HELLO:
        raise HelloRefused("more than one TLS message came at once")
    return stream_part[:size]


def _parse_server_names(message: bytes) -> Iterator[str]:
    kinds = set[int]()
    for kind, content in _parse_extensions(message):
        if kind in kinds:
            raise HelloRefused("the ClientHello holds one extension twice")
        kinds.add(kind)
        if kind in _HIDING:
            raise HelloRefused("the ClientHello hides a server's name (ECH), so nobody can tell whom it asks for")
        if kind == _SERVER_NAME:
            yield from _parse_name_list(content)


def _parse_extensions(message: bytes) -> Iterator[tuple[int, bytes]]:
    if message[:1] != bytes([_CLIENT_HELLO]):
        raise HelloRefused("the first TLS message is no ClientHello")
    hello = _Reader(message[_MESSAGE_HEAD:])
    hello.take_bytes(_VERSION_BYTES + _RANDOM_BYTES)
    hello.take_vector(1)  # session id
    hello.take_vector(2)  # cipher suites
    hello.take_vector(1)  # compression methods
    if hello.is_empty:
        return
    extensions = _Reader(hello.take_vector(2))
    hello.check_end()
    while not extensions.is_empty:
        yield int.from_bytes(extensions.take_bytes(2)), extensions.take_vector(2)


def _parse_name_list(content: bytes) -> Iterator[str]:
    reader = _Reader(content)
    names = _Reader(reader.take_vector(2))
    reader.check_end()
    while not names.is_empty:
        if names.take_bytes(1)[0] != _HOST_NAME:
            raise HelloRefused("the ClientHello names a server by something else than its host name")
        yield names.take_vector(2).decode("latin-1")


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


class _Reader:
    """Takes bytes from the front; refuses the message if it is asked for more than there are."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    @property
    def is_empty(self) -> bool:
        return self._at == len(self._content)

    def take_bytes(self, size: int) -> bytes:
        if self._at + size > len(self._content):
            raise HelloRefused("the ClientHello ends too early")
        self._at += size
        return self._content[self._at - size : self._at]

    def take_vector(self, head: int) -> bytes:
        return self.take_bytes(int.from_bytes(self.take_bytes(head)))

    def check_end(self) -> None:
        if not self.is_empty:
            raise HelloRefused("the ClientHello holds more than its lengths say")
