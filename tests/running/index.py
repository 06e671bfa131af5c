"""A package index, an npm registry and a server that must not be reached, on the loopback interface."""

import hashlib
import http.server
import io
import json
import threading
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass
class Loopback:
    """`pages` by path; `asked` are the requests that came, as `METHOD path`."""

    port: int
    pages: dict[str, bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    @property
    def place(self) -> str:
        return f"localhost:{self.port}"

    @property
    def index(self) -> str:
        return f"http://{self.place}/simple"

    def add_wheel(
        self,
        name: str,
        version: str = "1.0",
        source: str = "ANSWER = 42\n",
        more: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """A wheel of one module, and `more` files."""
        file = f"{name}-{version}-py3-none-any.whl"
        self._add(name, file, wheel(name, version, source, more))

    def add_source(self, name: str, archive: bytes, version: str = "1.0") -> None:
        """A source archive."""
        self._add(name, f"{name}-{version}.tar.gz", archive)

    def _add(self, name: str, file: str, content: bytes) -> None:
        digest = hashlib.sha256(content).hexdigest()
        link = f'<a href="/files/{file}#sha256={digest}">{file}</a>'
        self.pages[f"/files/{file}"] = content
        listed = self.pages.get(f"/simple/{name}/", b"<!DOCTYPE html>")
        self.pages[f"/simple/{name}/"] = listed + link.encode()


def wheel(name: str, version: str, source: str, more: Mapping[str, str] = MappingProxyType({})) -> bytes:
    """A wheel with one module of its name, and `more` files."""
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": source,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        **more,
    }
    record = "".join(f"{path},,\n" for path in (*files, f"{info}/RECORD"))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path, text in (*files.items(), (f"{info}/RECORD", record)):
            archive.writestr(path, text)
    return packed.getvalue()


def npm_package(name: str, place: str) -> bytes:
    """What an npm registry says of one package's latest version."""
    return json.dumps({"name": name, "dist": {"tarball": f"http://{place}/{name}.tgz"}}).encode()


@contextmanager
def loopback() -> Iterator[Loopback]:
    """A server while the block lasts; whatever it does not have is 404."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            served.asked.append(f"GET {self.path}")
            found = served.pages.get(self.path)
            self.send_response(404 if found is None else 200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(found or b"")))
            self.end_headers()
            self.wfile.write(found or b"")

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        served = Loopback(server.server_address[1], {"/": b"hello from outside"})
        server.socket.settimeout(1.0)  # a visitor that has gone before it is let in must not hold the server's end up
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield served
        finally:
            server.shutdown()
            thread.join()
