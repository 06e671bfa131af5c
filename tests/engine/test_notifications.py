"""Notifications of whole runs: who is told what, how often, and what happens when telling fails."""

import json
import os
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from orchestrator.app.run_execution import RunExit, run_goal
from orchestrator.domain.event.external import NotificationSent
from orchestrator.journal.storage.event_store import read_all_events
from tests.running.goals import TWO, Bench, one

pytestmark = pytest.mark.sandbox


def sent(ended: RunExit) -> list[NotificationSent]:
    events = [recorded.event for recorded in read_all_events(ended.directory.journal)]
    return [event for event in events if isinstance(event, NotificationSent)]


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def kinds(told: dict[str, Any]) -> list[str]:
    return [event["kind"] for event in told["events"]]


async def test_the_end_is_told_to_the_command_and_in_a_file_under_the_same_key(bench: Bench) -> None:
    log, box = bench.root / "log", bench.root / "box"
    ended = await bench.run(*one("a"), notify={"command": f"cat >>{log}; echo >>{log}", "dir": str(box)})
    assert ended.exit_code == 0
    (told,) = lines(log)
    (file,) = box.iterdir()
    assert (told["schema"], told["run"], kinds(told)) == (1, ended.state.run.run, ["run.ended"])
    assert told["events"][0]["text"] == "ended done: every criterion of the contract is met"
    assert json.loads(file.read_text()) == told
    assert file.stem == told["key"]
    assert {one.channel: one.is_sent for one in sent(ended)} == {"command": True, "dir": True}


async def test_a_pause_is_told_before_the_process_ends_and_once(bench: Bench) -> None:
    log = bench.root / "log"
    notify = {"command": f"cat >>{log}; echo >>{log}"}
    hooks = [{"on": "before_run", "run": f"test -e {bench.root}/door || exit 2", "trusted": True}]
    paused = await bench.run(*one("a"), notify=notify, hooks=hooks)
    assert paused.exit_code == 6
    assert [kinds(told) for told in lines(log)] == [["run.paused"]]
    (bench.root / "door").touch()
    await bench.resume(*one("a"))
    await bench.resume(*one("a"))
    assert [kinds(told) for told in lines(log)] == [["run.paused"], ["run.ended"]]


async def test_what_happens_in_the_quiet_period_is_told_together_and_nothing_twice(bench: Bench) -> None:
    log = bench.root / "log"
    notify = {"command": f"cat >>{log}; echo >>{log}", "on": ["verdict.given", "landing.finished"], "quiet_s": 3600}
    await bench.run(*TWO, notify=notify)
    first, rest = lines(log)
    assert kinds(first) == ["verdict.given"]
    assert kinds(rest) == ["landing.finished", "verdict.given", "landing.finished"]


async def test_a_failing_command_is_recorded_and_changes_nothing(bench: Bench) -> None:
    ended = await bench.run(*one("a"), notify={"command": "echo no route >&2; exit 1"})
    assert ended.exit_code == 0
    assert [(one.is_sent, one.detail) for one in sent(ended)] == [(False, "exit code 1 no route")]


async def test_a_file_that_could_not_be_written_is_written_by_the_next_resume(bench: Bench) -> None:
    box = bench.root / "box"
    box.write_text("in the way")
    ended = await bench.run(*one("a"), notify={"dir": str(box)})
    assert (ended.exit_code, sent(ended)) == (0, [])
    box.unlink()
    assert (await bench.resume(*one("a"))).exit_code == 0
    assert [kinds(json.loads(file.read_text())) for file in box.iterdir()] == [["run.ended"]]


class Chat(BaseHTTPRequestHandler):
    """A web hook that keeps what it is told."""

    told: list[str]
    status = 200

    def do_POST(self) -> None:
        self.told.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.send_response(self.status)
        self.send_header("Location", "/elsewhere")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Nothing is printed."""


@pytest.fixture
def chat(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Chat]]:
    handler = type("OneChat", (Chat,), {"told": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        monkeypatch.setenv("TEAM_HOOK_URL", f"http://127.0.0.1:{server.server_port}/hook/{HOOK_SECRET}")
        yield handler
        server.shutdown()
        thread.join()


HOOK_SECRET = "T0aB9cD8eF7gH6"


async def test_a_web_hook_is_told_in_words_and_its_address_is_kept_secret(bench: Bench, chat: type[Chat]) -> None:
    ended = await run_goal(bench.options(one("a"), notify={"webhook_env": "TEAM_HOOK_URL"}), "better & <!channel>")
    (told,) = chat.told
    text = json.loads(told)["text"]
    assert text.splitlines()[0].endswith(": better &amp; &lt;!channel&gt;")
    assert text.splitlines()[1] == "ended done: every criterion of the contract is met"
    assert [(one.channel, one.is_sent, one.detail) for one in sent(ended)] == [("webhook", True, "")]
    kept = b"".join(path.read_bytes() for path in ended.directory.path.rglob("*") if path.is_file())
    assert HOOK_SECRET.encode() not in kept


@pytest.mark.parametrize(("status", "problem"), [(302, "127.0.0.1 answered 302"), (404, "127.0.0.1 answered 404")])
async def test_a_web_hook_that_refuses_is_recorded_and_not_followed(
    bench: Bench, chat: type[Chat], status: int, problem: str
) -> None:
    chat.status = status
    ended = await bench.run(*one("a"), notify={"webhook_env": "TEAM_HOOK_URL"})
    assert (ended.exit_code, len(chat.told)) == (0, 1)
    assert [(one.is_sent, one.detail) for one in sent(ended)] == [(False, problem)]


async def test_a_desktop_gets_words_without_mark_up_and_a_variable_without_a_url_is_told(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = bench.root / "shown"
    program = bench.root / "bin" / "notify-send"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\nprintf '%s\\n' \"$@\" >{shown}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.delenv("TEAM_HOOK_URL", raising=False)
    notify = {"desktop": True, "webhook_env": "TEAM_HOOK_URL"}
    ended = await run_goal(bench.options(one("a"), notify=notify), "--help <b>me</b>")
    lines = shown.read_text().splitlines()
    assert lines[:3] == ["--app-name=orchestrate", "--", "Orchestrate: --help <b>me</b>"]
    assert lines[3] == "ended done: every criterion of the contract is met"
    told = {one.channel: (one.is_sent, one.detail) for one in sent(ended)}
    assert told == {
        "desktop": (True, ""),
        "webhook": (False, "TEAM_HOOK_URL holds no URL that begins with https:// or http://"),
    }
