"""A copy to look into: what an agent has made so far, in a directory of its own that is gone afterwards."""

import os
import signal
from pathlib import Path
from threading import Event
from time import monotonic

import pytest

from orchestrator.domain.commands.definitions import Command
from orchestrator.domain.ids import TaskId
from orchestrator.tui.actions import DashboardActions
from orchestrator.tui.app import Dashboard
from orchestrator.tui.commands.checkout import CHECKOUTS_DIRECTORY, open_checkout
from orchestrator.tui.views.base_view import Subject
from tests.running.goals import Bench, one
from tests.running.projects import calculator, git
from tests.running.scripts import plans, writes
from tests.tui.sources import Sent, stored

pytestmark = pytest.mark.sandbox


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path, calculator(tmp_path / "repo"))


async def test_a_candidate_and_a_workspace_are_copied_and_the_copies_are_removed(bench: Bench) -> None:
    ended = await bench.run(*one("a"))
    state, directory = ended.state, ended.directory
    before = git(bench.repository, "worktree", "list")
    place = directory.path.parents[1] / CHECKOUTS_DIRECTORY
    async with open_checkout(state, directory, Subject("task", "a")) as root:
        assert root.is_relative_to(place)
        assert (root / "a.txt").read_text() == "a\n"
        (root / "a.txt").write_text("mine\n")
        (root / "new").mkdir()
        async with open_checkout(state, directory, Subject("session", "work:a@1")) as second:
            assert second != root, "two people can look at once"
            assert (second / "a.txt").read_text() == "a\n"
    assert not root.exists()
    assert git(bench.repository, "worktree", "list") == before
    assert git(bench.repository, "status", "--short") == ""
    async with open_checkout(state, directory, None) as root:
        assert (root / "a.txt").exists(), "without a subject it is the tip of the branch"


async def test_a_task_at_work_is_shown_as_it_stood_after_its_last_turn(bench: Bench) -> None:
    begun = [plans("root", {"key": "a"}), writes("a", "a.txt", "a\n")]
    ended = await bench.run(*begun)
    assert ended.state.tasks[TaskId("a")].candidate is None
    async with open_checkout(ended.state, ended.directory, Subject("task", "a")) as root:
        assert (root / "a.txt").read_text() == "a\n"


@pytest.mark.extended
async def test_while_an_editor_has_the_terminal_held_commands_are_sent_and_ctrl_c_is_the_editors(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = await bench.run(plans("root", {"key": "a"}), writes("a", "a.txt", "a\n"))
    sent = Sent()
    is_sent, opened = Event(), list[Path]()

    def send(command: Command) -> str:
        is_sent.set()
        return sent.send(command)

    def edit(place: Path) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        assert is_sent.wait(120)
        opened.append(place)

    source = stored(ended.directory)
    source.directory = ended.directory
    app = Dashboard(source, DashboardActions(send, sent.wake, edit, edit))
    async with app.run_test() as pilot:
        await pilot.pause()
        assert app._driver is not None
        monkeypatch.setattr(type(app._driver), "can_suspend", True)
        app.command_bar.run_typed_command("criterion add more")
        await pilot.press("o")
        end = monotonic() + 120
        while not opened and monotonic() < end:
            await pilot.pause(0.05)
        await app.workers.wait_for_complete()
        assert [command.do for command in sent.commands] == ["add-criterion"]
        assert app.is_running
    assert not opened[0].exists()
