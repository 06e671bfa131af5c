"""First messages of TLS connections, as the standard library's TLS makes them."""

import ssl


def client_hello(server_name: str | None) -> bytes:
    """Return the bytes with which a TLS client asks for a server; None for a client that names none."""
    context = ssl.create_default_context()
    context.check_hostname = False
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = context.wrap_bio(incoming, outgoing, server_hostname=server_name)
    try:
        client.do_handshake()
    except ssl.SSLWantReadError:
        return outgoing.read()
    raise AssertionError("a handshake cannot be over without its server")


def split_into_records(hello: bytes, size: int) -> bytes:
    """Return the same message in TLS records of at most `size` bytes each."""
    message = hello[5:]
    parts = [message[start : start + size] for start in range(0, len(message), size)]
    return b"".join(hello[:3] + len(part).to_bytes(2) + part for part in parts)
