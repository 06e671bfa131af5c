"""The server of the forge: who may ask, what goes wrong, what has not changed, and a record of all that was asked."""

import hashlib
import json
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.running.forge.faults import Answer, Fault, Faults
from tests.running.forge.hosted import ALL_RIGHTS, Hosted, Refusal
from tests.running.forge.routes import Call, require_right, route_of

TOKEN = "ghs_" + "5x" * 18
_PER_HOUR = 5000


@dataclass(frozen=True)
class Asked:
    """A request as it came, without the token, and what it got; None where the connection was closed."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: Any
    answer: Answer | None

    @property
    def status(self) -> int | None:
        return self.answer.status if self.answer else None

    @property
    def line(self) -> str:
        """Method and path below the repository."""
        path = self.target.partition("?")[0].split("/", 4)
        return f"{self.method} /{path[4] if len(path) > 4 else ''}"


@dataclass
class FakeForge:
    """The forge: `hosted` is its repository, `tokens` says who may do what, `faults` what is to go wrong.

    `asked` has every request, `wrong` what must not happen: requests that no route of GitHub's takes, and errors of the
    forge's own. Each of `heard` is called after a request was dealt with and before it is answered.
    """

    hosted: Hosted
    url: str = ""
    tokens: dict[str, Mapping[str, str]] = field(default_factory=lambda: {TOKEN: ALL_RIGHTS})
    asked: list[Asked] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    heard: list[Callable[[Asked], None]] = field(default_factory=list)
    spent: int = 0
    _faults: Faults = field(default_factory=Faults)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def settings(self) -> dict[str, str]:
        """`[pr]` for a repository whose remote `origin` is the forge's bare one."""
        return {"push": "origin", "forge": "github", "url": self.url, "repository": self.hosted.name}

    @property
    def lines(self) -> list[str]:
        """Method and path of every request."""
        return [asked.line for asked in self.asked]

    @property
    def writes(self) -> list[str]:
        """The same of those that were to change something."""
        return [asked.line for asked in self.asked if asked.method != "GET"]

    def fault(self, fault: Fault, method: str = "", path: str = "", *, times: int = 1, after: int = 0) -> None:
        """Have requests go wrong; `path` is a regular expression."""
        self._faults.left.append(fault.on(method, path, times=times, after=after))

    def respond(self, method: str, target: str, headers: Mapping[str, str], body: Any) -> Answer | None:
        """The answer to a request; None to close the connection."""
        with self._lock:
            fault = self._faults.strike(method, target.partition("?")[0])
        if fault and fault.delay_s:
            time.sleep(fault.delay_s)
        with self._lock:
            answer = self._answer(method, target, headers, body) if _happens(fault) else None
            if fault and not fault.is_only_slow:
                answer = fault.answer
            shown = {name: value for name, value in headers.items() if name != "authorization"}
            asked = Asked(method, target, shown, body, answer)
            self.asked.append(asked)
            for listener in self.heard:
                listener(asked)
            return answer

    def _answer(self, method: str, target: str, headers: Mapping[str, str], body: Any) -> Answer:
        parts = urlsplit(target)
        try:
            answer = self._done(method, parts.path, dict(parse_qsl(parts.query)), headers, body)
        except Refusal as refusal:
            answer = refusal.answer
        return self._unchanged(headers, answer) if method == "GET" else self._counted(answer)

    def _done(self, method: str, path: str, query: Mapping[str, str], headers: Mapping[str, str], body: Any) -> Answer:
        rights = self.tokens.get(headers.get("authorization", "").removeprefix("Bearer "))
        if rights is None:
            raise Refusal(401, "Bad credentials")
        if "user-agent" not in headers:
            raise Refusal(403, "Request forbidden by administrative rules. Please make sure you have a User-Agent")
        prefix = f"/repos/{self.hosted.name}"
        if not path.startswith("/repos/"):
            self._unheard_of(f"{method} {path}")
        if (path != prefix and not path.startswith(f"{prefix}/")) or not rights:
            raise Refusal(404, "Not Found")
        for route, parts in route_of(method, path.removeprefix(prefix)):
            if unknown := query.keys() - set(route.query):
                self._unheard_of(f"{method} {path}?{unknown}")
            require_right(route.right, rights)
            return route.act(Call(self.hosted, parts, query, body or {}, rights))
        return self._unheard_of(f"{method} {path}")

    def _unheard_of(self, what: str) -> Answer:
        self.wrong.append(f"GitHub has no {what}")
        raise Refusal(404, "Not Found")

    def _unchanged(self, headers: Mapping[str, str], answer: Answer) -> Answer:
        """What the client has already is not sent again, and does not count."""
        tag = f'W/"{hashlib.sha256(answer.content).hexdigest()}"'
        if answer.status == 200 and headers.get("if-none-match") == tag:
            return Answer(304, b"", {"ETag": tag})
        return self._counted(Answer(answer.status, answer.value, {**answer.headers, "ETag": tag}))

    def _counted(self, answer: Answer) -> Answer:
        self.spent += 1
        left = {"X-RateLimit-Limit": f"{_PER_HOUR}", "X-RateLimit-Remaining": f"{_PER_HOUR - self.spent}"}
        return Answer(answer.status, answer.value, {**left, **answer.headers})


def _happens(fault: Fault | None) -> bool:
    return fault is None or fault.happens or fault.is_only_slow


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    forge: FakeForge

    def _serve(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        content = self.rfile.read(int(headers.get("content-length", 0)))
        try:
            answer = self.forge.respond(self.command, self.path, headers, json.loads(content) if content else None)
        except Exception:  # noqa: BLE001 - the test fails by it, at its end
            self.forge.wrong.append(traceback.format_exc())
            answer = None
        if answer is None:
            self.close_connection = True
            return
        self.send_response_only(answer.status)
        sent = {"Content-Type": "application/json; charset=utf-8", "Date": formatdate(usegmt=True), **answer.headers}
        for name, value in sent.items():
            self.send_header(name, value)
        if answer.status != 304:
            self.send_header("Content-Length", str(len(answer.content)))
        self.end_headers()
        if answer.status != 304:
            self.wfile.write(answer.content)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _serve

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """A client that was killed or has read enough; errors of the forge's own are caught before."""


@contextmanager
def fake_forge(path: Path, name: str = "octo/demo") -> Iterator[FakeForge]:
    """Serve the bare repository at `path` under this name; a request that no route takes fails the block at its end."""
    forge = FakeForge(Hosted(path, name))
    handler = type("Handler", (_Handler,), {"forge": forge})
    with _Server(("127.0.0.1", 0), handler) as server:
        forge.url = forge.hosted.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield forge
        finally:
            server.shutdown()
            thread.join()
    assert not forge.wrong, forge.wrong
