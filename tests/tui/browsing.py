"""A real headless Chromium, steered by its own protocol, for what only a browser can show."""

import base64
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import DEVNULL
from typing import Any

import anyio
from aiohttp import ClientSession, ClientWebSocketResponse

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-port=0")


@dataclass
class Tab:
    """One open tab; `said` are the events that came by."""

    socket: ClientWebSocketResponse
    said: list[dict[str, Any]] = field(default_factory=list)
    _calls: int = 0

    async def call(self, method: str, **given: object) -> dict[str, Any]:
        """Have the browser do something."""
        self._calls += 1
        await self.socket.send_json({"id": self._calls, "method": method, "params": given})
        while (answer := await self.socket.receive_json()).get("id") != self._calls:
            self.said.append(answer)
        return dict(answer["result"])

    async def evaluated(self, expression: str) -> Any:
        """The value of a JavaScript expression."""
        found = await self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        return found["result"].get("value")

    async def screenshot(self) -> bytes:
        """What is seen, as PNG."""
        return base64.b64decode((await self.call("Page.captureScreenshot"))["data"])

    @property
    def complaints(self) -> list[str]:
        """What went wrong in the page: errors, and what its policy kept it from."""
        entries = [one["params"]["entry"] for one in self.said if one.get("method") == "Log.entryAdded"]
        thrown = [str(one["params"]) for one in self.said if one.get("method") == "Runtime.exceptionThrown"]
        wrong = [
            entry["text"] for entry in entries if entry["level"] == "error" and "favicon" not in entry.get("url", "")
        ]
        return [*wrong, *thrown]


@asynccontextmanager
async def browser(profile: Path) -> AsyncIterator[Tab]:
    """A browser with one empty tab. Some of its processes write to its profile for a moment after it has ended."""
    assert CHROMIUM
    words = [CHROMIUM, *_FLAGS, f"--user-data-dir={profile}", "--window-size=1200,700", "about:blank"]
    async with await anyio.open_process(words, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL) as process:
        async with ClientSession() as session:
            address = f"http://127.0.0.1:{await _port(profile)}/json"
            async with session.get(address) as answer:
                target = (await answer.json())[0]["webSocketDebuggerUrl"]
            async with session.ws_connect(target, max_msg_size=0) as socket:
                tab = Tab(socket)
                for domain in ("Log", "Runtime", "Page"):
                    await tab.call(f"{domain}.enable")
                yield tab
        process.terminate()


async def _port(profile: Path) -> str:
    file = profile / "DevToolsActivePort"
    with anyio.fail_after(120):
        while not file.exists() or "\n" not in file.read_text():  # noqa: ASYNC110 -- a file of another process
            await anyio.sleep(0.1)
    return file.read_text().splitlines()[0]
