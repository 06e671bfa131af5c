"""The dashboard in a browser: nobody without the token gets anything, and the page loads nothing from elsewhere."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest
from aiohttp import ClientSession, CookieJar, WSMsgType

from orchestrator.tui.web.server import build_cookie_name
from tests.tui.browsing import CHROMIUM, browser

APP = """
from textual.app import App
from textual.widgets import Static

class Little(App):
    def compose(self):
        yield Static("the fleet is here", markup=False)

    def on_key(self, event):
        self.query_one(Static).update(f"pressed {event.key}")

Little().run()
"""
SERVER = """
import shlex, sys
from orchestrator.tui.web.server import DashboardServer, open_loopback_socket

listening = open_loopback_socket(0)
dashboards = DashboardServer(shlex.join([sys.executable, sys.argv[1]]), "run <b>x</b>")
print(listening.getsockname()[1], dashboards.token, flush=True)
dashboards.run(listening)
"""


@dataclass(frozen=True)
class Served:
    """A server that is up."""

    address: str
    token: str

    @property
    def cookie(self) -> dict[str, str]:
        return {"Cookie": f"{build_cookie_name(self.token)}={self.token}"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    app = tmp_path_factory.mktemp("app") / "app.py"
    app.write_text(APP)
    with serving(app) as found:
        yield found


@contextmanager
def serving(app: Path) -> Iterator[Served]:
    words = [sys.executable, "-c", SERVER, str(app)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]) as process:
        assert process.stdout
        port, token = process.stdout.readline().split()
        try:
            yield Served(f"http://127.0.0.1:{port}", token)
        finally:
            process.terminate()


@pytest.mark.parametrize("place", ["/", "/ws", "/static/js/textual.js", "/static/", "/download/x", "/nowhere"])
@pytest.mark.parametrize("proof", [{}, {"Cookie": "orchestrate=wrong"}, {"Cookie": "orchestrate="}])
async def test_nobody_without_the_token_gets_anything(served: Served, place: str, proof: dict[str, str]) -> None:
    async with ClientSession() as session, session.get(served.address + place, headers=proof) as answer:
        assert answer.status == 401
        assert "token" in await answer.text()


@pytest.mark.parametrize(
    ("path", "header"),
    [
        ("/", b"COOKIE=\xff\xfe\xed\xa0\x80"),
        ("/?token=%FF%FE%ED%A0%80", b""),
        (f"/?token={'a' * 5_000}", b""),
        ("/static/../../../../../etc/passwd", b""),
        ("/static/%2e%2e/%2e%2e/%2e%2e/etc/passwd", b""),
        ("//elsewhere.example/", b""),
    ],
)
async def test_whatever_is_sent_without_the_token_is_refused_and_costs_no_error(
    served: Served, path: str, header: bytes
) -> None:
    cookie = header.replace(b"COOKIE", b"Cookie: " + build_cookie_name(served.token).encode())
    assert (await raw(served, path, cookie)).startswith(b"HTTP/1.1 401 ")


@pytest.mark.parametrize("path", ["/static/../../../../../etc/passwd", "/static/%2e%2e/%2e%2e/page.html", "/page.html"])
async def test_with_the_token_nothing_but_the_dashboard_can_be_read(served: Served, path: str) -> None:
    answer = await raw(served, path, f"Cookie: {served.cookie['Cookie']}".encode())
    assert answer[:13] in {b"HTTP/1.1 403 ", b"HTTP/1.1 404 "}


async def test_a_size_of_letters_that_is_none_is_the_usual_one(served: Served) -> None:
    size = f"{served.address}/?fontsize={'9' * 5_000}"
    async with ClientSession() as session, session.get(size, headers=served.cookie) as answer:
        assert 'data-font-size="14"' in await answer.text()


async def test_two_dashboards_in_one_browser_leave_each_other_their_tokens(served: Served, tmp_path: Path) -> None:
    app = tmp_path / "app.py"
    app.write_text(APP)
    with serving(app) as other:
        async with ClientSession(cookie_jar=CookieJar(unsafe=True)) as session:
            for one in (served, other):
                async with session.get(f"{one.address}/?token={one.token}") as answer:
                    assert answer.status == 200
            for one in (served, other):
                async with session.get(one.address) as answer:
                    assert answer.status == 200


async def raw(served: Served, path: str, header: bytes) -> bytes:
    """What is answered to a request as it stands, which no client would send so."""
    port = int(served.address.rpartition(":")[2])
    async with await anyio.connect_tcp("127.0.0.1", port) as stream:
        headers = [b"Host: x", b"Connection: close", *filter(None, [header]), b"", b""]
        await stream.send(b"\r\n".join([f"GET {path} HTTP/1.1".encode(), *headers]))
        with anyio.fail_after(120):
            return await stream.receive()


async def test_the_token_becomes_a_cookie_that_other_sites_cannot_use(served: Served) -> None:
    async with (
        ClientSession() as session,
        session.get(f"{served.address}/?token={served.token}", allow_redirects=False) as answer,
    ):
        assert (answer.status, answer.headers["Location"]) == (303, "/")
        told = answer.headers["Set-Cookie"]
    assert "HttpOnly" in told
    assert "SameSite=Strict" in told


async def test_a_page_of_another_site_cannot_open_a_dashboard(served: Served) -> None:
    headers = served.cookie | {"Origin": "http://elsewhere.example"}
    async with ClientSession() as session, session.get(f"{served.address}/ws", headers=headers) as answer:
        assert answer.status == 401


async def test_the_page_loads_nothing_from_elsewhere_and_shows_titles_as_text(served: Served) -> None:
    async with ClientSession() as session, session.get(served.address, headers=served.cookie) as answer:
        page, policy = await answer.text(), answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert re.findall(r"(?:https?:)?//(?!127\.0\.0\.1)[\w.]+", page) == []
    assert "<b>" not in page
    assert f'"{served.address.replace("http", "ws")}/ws"' in page


async def test_behind_a_tunnel_the_page_finds_its_way_back(served: Served) -> None:
    headers = served.cookie | {"Host": "my.tunnel.example", "X-Forwarded-Proto": "https"}
    async with ClientSession() as session, session.get(served.address, headers=headers) as answer:
        assert '"wss://my.tunnel.example/ws"' in await answer.text()


async def test_every_browser_gets_a_dashboard_of_its_own_that_ends_with_it(served: Served) -> None:
    async with ClientSession(headers=served.cookie) as session, session.ws_connect(f"{served.address}/ws") as socket:
        seen = b""
        with anyio.fail_after(120):
            while b"the fleet is here" not in seen:
                message = await socket.receive()
                assert message.type in {WSMsgType.BINARY, WSMsgType.TEXT}
                seen += message.data if isinstance(message.data, bytes) else b""


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium: install the package chromium")
async def test_a_browser_shows_the_dashboard_and_its_policy_keeps_nothing_back(served: Served, tmp_path: Path) -> None:
    async with browser(tmp_path / "profile") as tab:
        await tab.call("Page.navigate", url=f"{served.address}/?token={served.token}")
        with anyio.fail_after(120):
            shown = "document.body ? document.body.className : ''"
            while "-first-byte" not in await tab.evaluated(shown):  # noqa: ASYNC110 -- in another process
                await anyio.sleep(0.2)
        assert await tab.evaluated("location.search + document.cookie") == ""
        assert len(await tab.screenshot()) > 1_000
        assert tab.complaints == []
