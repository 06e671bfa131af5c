"""The inside of tier 2: leads connections to a port of the sandbox's own loopback to the proxy's socket.

Run as a script of its own by the interpreter inside: standard library only; socket, port and command as arguments. The
command takes this process's place, so that its exit code and signals are its own; what forwards becomes a child of the
sandbox's first process and ends with the sandbox.

The proxy answers CONNECT alone. Clients ask for plain http with an absolute address instead; such a request is made
here into a tunnel, and into the one request in it.
"""

import contextlib
import os
import re
import select
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from urllib.parse import urlsplit

_HEAD_BYTES = 64 * 1024
_CHUNK_BYTES = 64 * 1024
_STACK_BYTES = 256 * 1024
_HOP_BY_HOP = re.compile(rb"(proxy-[a-z-]+|connection|keep-alive)\s*:", re.IGNORECASE)


def forward_connections(listener: socket.socket, proxy: str) -> None:
    """Forward every connection to the proxy, until the sandbox ends."""
    threading.stack_size(_STACK_BYTES)
    while True:
        client, _ = listener.accept()
        threading.Thread(target=_serve_client, args=(client, proxy), daemon=True).start()


def _serve_client(client: socket.socket, proxy: str) -> None:
    with client, socket.socket(socket.AF_UNIX) as server, contextlib.suppress(OSError):
        server.connect(proxy)
        head, rest = _read_until_blank_line(client)
        if head.startswith(b"CONNECT "):
            server.sendall(head + rest)
        else:
            target, request = rewrite_proxy_request(head)
            server.sendall(b"CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (target, target))
            answer, early = _read_until_blank_line(server)
            if answer.split(b" ", 2)[1:2] != [b"200"]:
                client.sendall(answer + early)
            else:
                server.sendall(request + rest)
        _relay(client, server)


def rewrite_proxy_request(head: bytes) -> tuple[bytes, bytes]:
    """Return the `host:port` that a request to a proxy is meant for, and the request as that host expects it.

    It is the only request of its connection: the next one may be meant for another host. A request that names no host
    is left to the proxy, which refuses it.
    """
    line, *fields = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    words = line.split(b" ")
    try:
        url = urlsplit(words[1].decode("ascii"))
        target = url.netloc.rpartition("@")[2] + ("" if url.port else ":80")
    except (IndexError, ValueError):
        return line[:100], b""
    path = url._replace(scheme="", netloc="").geturl() or "/"
    kept_fields = [field for field in fields if not _HOP_BY_HOP.match(field)]
    first = b" ".join((words[0], path.encode(), *words[2:]))
    return target.encode(), b"\r\n".join((first, *kept_fields, b"Connection: close", b"", b""))


def _read_until_blank_line(source: socket.socket) -> tuple[bytes, bytes]:
    found = b""
    while b"\r\n\r\n" not in found and len(found) < _HEAD_BYTES:
        chunk = source.recv(_CHUNK_BYTES)
        if not chunk:
            raise ConnectionError("ended before its head did")
        found += chunk
    head, blank, rest = found.partition(b"\r\n\r\n")
    return head + blank, rest


def _relay(client: socket.socket, server: socket.socket) -> None:
    """Relay both directions until both have ended."""
    sinks = {client: server, server: client}
    while sinks:
        for source in _poll_readable(sinks):
            chunk = source.recv(_CHUNK_BYTES)
            if chunk:
                sinks[source].sendall(chunk)
            else:
                sinks.pop(source).shutdown(socket.SHUT_WR)


def _poll_readable(sources: dict[socket.socket, socket.socket]) -> Iterator[socket.socket]:
    poll = select.poll()
    for source in sources:
        poll.register(source, select.POLLIN)
    numbers = {number for number, _ in poll.poll()}
    yield from [source for source in sources if source.fileno() in numbers]


def _fork_forwarder(listener: socket.socket, proxy: str) -> None:
    """Forward in a process that is no child of the command and keeps none of its output open."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    if os.fork():
        os._exit(0)
    os.setsid()
    with open(os.devnull, "r+b", buffering=0) as nothing:  # noqa: PTH123 - not worth importing pathlib
        for number in (0, 1, 2):
            os.dup2(nothing.fileno(), number)
    forward_connections(listener, proxy)


def main(proxy: str, port: str, *command: str) -> None:
    """Listen in a process of its own, then become the command."""
    listener = socket.create_server(("127.0.0.1", int(port)))
    _fork_forwarder(listener, proxy)
    listener.close()
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # which Python ignores, and the command would then as well
        signal.signal(number, signal.SIG_DFL)
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(*sys.argv[1:])
