"""What TLS clients say first: as OpenSSL says it, and built by hand where OpenSSL would not."""

import ssl

ECH = 0xFE0D
_SERVER_NAME = 0


def openssl_hello(host: str | None) -> bytes:
    """The records of an OpenSSL client that asks for `host`, or names nobody."""
    context = ssl.create_default_context()
    context.check_hostname = host is not None
    sent = ssl.MemoryBIO()
    client = context.wrap_bio(ssl.MemoryBIO(), sent, server_hostname=host)
    try:
        client.do_handshake()
    except ssl.SSLWantReadError:
        return sent.read()
    raise AssertionError("there is nobody to shake hands with")


def server_names(*names: str, kind: int = 0) -> tuple[int, bytes]:
    """The extension that names servers."""
    listed = b"".join(bytes([kind]) + _vector(2, name.encode()) for name in names)
    return _SERVER_NAME, _vector(2, listed)


def hello(*extensions: tuple[int, bytes], trailing: bytes = b"") -> bytes:
    """A ClientHello with these extensions, as a handshake message."""
    listed = b"".join(kind.to_bytes(2) + _vector(2, content) for kind, content in extensions)
    body = b"\3\3" + bytes(32) + b"\0" + _vector(2, b"\x13\1") + _vector(1, b"\0") + _vector(2, listed) + trailing
    return b"\1" + _vector(3, body)


def records(message: bytes, size: int = 16_000, kind: int = 0x16) -> bytes:
    """A message in records of at most `size` bytes."""
    pieces = (message[at : at + size] for at in range(0, len(message), size))
    return b"".join(bytes([kind, 3, 1]) + _vector(2, piece) for piece in pieces)


def _vector(head: int, content: bytes) -> bytes:
    return len(content).to_bytes(head) + content
