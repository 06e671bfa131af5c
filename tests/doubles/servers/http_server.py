"""A server of tools at a url of this machine, in this process: it counts its calls, and can misbehave."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class HttpToolServer:
    """A server that runs while a test does. `calls` are the texts that its tool got, `tokens` what it was shown."""

    way: str = ""
    description: str = "Say something back."
    calls: list[str] = field(default_factory=list)
    tokens: set[str] = field(default_factory=set)
    url: str = ""

    def answer_message(self, message: dict[str, Any]) -> dict[str, Any] | None:
        """The result of a request; None for what wants no answer."""
        match message.get("method"):
            case "initialize":
                info = {"name": "http", "version": "1"}
                return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
            case "tools/list":
                schema = {"type": "object", "properties": {"text": {"type": "string"}}}
                tool = {"name": "echo", "description": self.description, "inputSchema": schema}
                if self.way == "hinted":
                    tool["annotations"] = {"readOnlyHint": True}
                return {"tools": [tool]}
            case "tools/call":
                text = str(message["params"].get("arguments", {}).get("text", ""))
                self.calls.append(text)
                if self.way == "flood":
                    text = "z" * (8 * 1024 * 1024)
                return {"content": [{"type": "text", "text": f"echo: {text}"}]}
        return None


@contextmanager
def serve_tools(way: str = "") -> Iterator[HttpToolServer]:
    """Serve while the block lasts."""
    served = HttpToolServer(way)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            served.tokens.add(self.headers.get("Authorization", ""))
            message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            result = served.answer_message(message)
            if served.way == "redirect" and message.get("method") == "tools/call":
                self._send(307, b"", {"Location": "http://127.0.0.2:9/mcp"})
            elif result is None:
                self._send(202, b"", {})
            else:
                body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
                self._send(200, body, {"Content-Type": "application/json"})

        def do_GET(self) -> None:
            self._send(405, b"", {})

        def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            try:
                self.wfile.write(body)
            except OSError:
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    served.url = f"http://127.0.0.1:{server.server_address[1]}/mcp"
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
