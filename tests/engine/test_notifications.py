"""Notifications of whole runs: who is told what, how often, and what happens when telling fails."""

import json
from pathlib import Path
from typing import Any

import pytest

from orchestrator.app.verbs import Ended
from orchestrator.domain.event.outside import NotificationSent
from orchestrator.journal.store import read_all
from tests.running.goals import TWO, Bench, one

pytestmark = pytest.mark.sandbox


def sent(ended: Ended) -> list[NotificationSent]:
    events = [recorded.event for recorded in read_all(ended.directory.journal)]
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
