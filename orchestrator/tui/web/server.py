"""A dashboard for browsers, through textual-serve: only on loopback, only to whoever has the token.

Every browser gets a dashboard of its own, a process that ends with it. The token comes in the address once, and is a
cookie from then on. Behind a tunnel of the user's own the page finds its way back by the address that was asked for.
"""

import hashlib
import hmac
import secrets
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp_jinja2
from aiohttp import web
from textual_serve.server import Server

LOOPBACK = "127.0.0.1"
_MAX_BROWSERS = 8
"""Browsers at a time: each costs a process."""
_POLICY = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "font-src 'self'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_FONT_SIZES = frozenset(map(str, range(6, 61)))
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def build_cookie_name(token: str) -> str:
    """The name of the cookie that holds a token: browsers give a machine's cookies to all of its ports, so that
    several dashboards need one each.
    """
    return f"orchestrate-{hashlib.sha256(token.encode()).hexdigest()[:8]}"


def open_loopback_socket(port: int) -> socket.socket:
    """Return a socket that listens on loopback; at any free port if `port` is 0.

    Raises:
        OSError: the port is taken, or not for us.
    """
    return socket.create_server((LOOPBACK, port))


class DashboardServer(Server):
    """Serves a command that is a dashboard.

    Args:
        command: for a shell.
        title: of the page.
        token: what a browser has to bring; a new one if not given.
    """

    def __init__(self, command: str, title: str, token: str = "") -> None:
        super().__init__(command, host=LOOPBACK, title=title, templates_path=Path(__file__).parent)
        self.token = token or secrets.token_urlsafe(24)
        self._open_count = 0

    def run(self, listening: socket.socket) -> None:
        """Serve until Ctrl-C or SIGTERM."""
        web.run_app(self._make_app(), sock=listening, print=None, access_log=None)

    async def _make_app(self) -> web.Application:
        application = await super()._make_app()
        application.middlewares.append(self._guard)
        return application

    async def on_startup(self, app: web.Application) -> None:
        """Print nothing: whoever starts the server prints the address, once."""

    @web.middleware
    async def _guard(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        """Let in requests with the token; what they get may load nothing from elsewhere."""
        cookie, is_secure = build_cookie_name(self.token), _get_scheme(request) == "https"
        if self._is_token(request.query.get("token", "")):
            seeing = web.HTTPSeeOther(request.path, headers=_POLICY)
            seeing.set_cookie(cookie, self.token, httponly=True, samesite="Strict", secure=is_secure)
            raise seeing
        if not self._is_token(request.cookies.get(cookie, "")) or not _is_same_site(request):
            text = "Open the address that `orchestrate watch --web` printed, with its token.\n"
            return web.Response(status=401, text=text, headers=_POLICY)
        response = await handler(request)
        if not response.prepared:
            response.headers.update(_POLICY)
        return response

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(errors="backslashreplace"), self.token.encode())

    async def handle_index(self, request: web.Request) -> Any:  # noqa: ANN401 -- the parent's is decorated
        """Return the page."""
        wanted = request.query.get("fontsize", "")
        kind = "ws" + "s" * (_get_scheme(request) == "https")
        context = {
            "title": self.title,
            "socket": f"{kind}://{request.host}{request.app.router['websocket'].url_for()}",
            "font_size": int(wanted) if wanted in _FONT_SIZES else 14,
        }
        return aiohttp_jinja2.render_template("page.html", request, context)

    async def handle_websocket(self, request: web.Request) -> web.StreamResponse:  # type: ignore[override]
        """Start a dashboard for one browser, up to a limit."""
        if self._open_count >= _MAX_BROWSERS:
            return web.Response(status=503, text=f"There are {_MAX_BROWSERS} dashboards open already.\n")
        self._open_count += 1
        try:
            return await super().handle_websocket(request)
        finally:
            self._open_count -= 1


def _get_scheme(request: web.Request) -> str:
    """Return the browser's scheme: the user's own tunnel may speak TLS in front of us."""
    return request.headers.get("X-Forwarded-Proto", request.scheme)


def _is_same_site(request: web.Request) -> bool:
    """Return True if no other site's page asks; browsers always send the origin of a web socket."""
    origin = request.headers.get("Origin")
    return origin is None or urlsplit(origin).netloc == request.host
