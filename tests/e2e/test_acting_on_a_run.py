"""A person at the dashboard and a real run: what it asks is approved by keys, and it lands."""

import time
from pathlib import Path

import pytest
from textual.pilot import Pilot

from orchestrator.cli.dashboard.actions import build_dashboard_actions
from orchestrator.domain.event.landing import LandingFinished
from orchestrator.domain.event.people import ApprovalDecided, CommandTaken
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.tui.app import Dashboard
from orchestrator.tui.run_feed.feed import RunFeed
from orchestrator.tui.view_model import Connection
from tests.running.terminals import SleepyRun
from tests.tui.sources import seen

pytestmark = [pytest.mark.sandbox, pytest.mark.slow, pytest.mark.timeout(600)]


async def until(pilot: Pilot[None], words: str) -> None:
    """Wait until words are on the screen."""
    end = time.monotonic() + 180
    while not any(words in line for line in seen(pilot.app)):  # type: ignore[arg-type]
        assert time.monotonic() < end, "\n".join(seen(pilot.app))  # type: ignore[arg-type]
        await pilot.pause(0.1)


async def test_a_landing_that_waits_is_approved_by_keys_and_lands(tmp_path: Path) -> None:
    run = SleepyRun(tmp_path, sleep_s=0.1)
    review = ("--approval", "review", "--set", 'approval.paths=["a.txt"]')
    with run.begin(*run.words, *review) as waiting:  # a process of its own: an engine takes signals
        _, said = waiting.communicate()
    assert waiting.returncode == 6, "nobody answered yet"
    assert f"answer it: orchestrate approve {run.directory.name} q1" in said, "as it was asked"
    assert f"run {run.directory.name}  asks you: " in said
    directory = RunDirectory(run.directory)
    app = Dashboard(RunFeed(directory), build_dashboard_actions(directory, run.where))
    async with app.run_test(size=(160, 48)) as pilot:
        await until(pilot, "Inbox(1)")
        await pilot.press("4", "enter")
        await until(pilot, "+a")  # the diff of the candidate, from real git
        pressed = time.monotonic()
        app.command_bar.clock = lambda: pressed
        await pilot.press("escape", "a", "a")
        await until(pilot, "approve q1 landing/a@1  in ")
        app.command_bar.clock = lambda: time.monotonic() + 5
        await until(pilot, "approved by ")
        await until(pilot, "ENDED")
        assert app.view_model is not None
        assert app.view_model.connection == Connection.ENDED
        assert app.view_model.state.ended is not None
        assert app.view_model.state.ended.outcome == "done"
    kinds = [type(one.event) for one in run.events()]
    assert [kinds.count(kind) for kind in (CommandTaken, ApprovalDecided, LandingFinished)] == [1, 1, 1]
