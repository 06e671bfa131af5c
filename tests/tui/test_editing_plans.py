"""The key e: a plan that waits is changed in the user's editor, and approved as they left it."""

from pathlib import Path
from time import monotonic

import pytest

from orchestrator.domain.commands.definitions import Approve
from orchestrator.tui.actions import DashboardActions
from orchestrator.tui.app import Dashboard
from orchestrator.tui.commands.pending_line import describe_command
from tests.running.goals import Bench
from tests.running.projects import calculator
from tests.running.scripts import plans
from tests.tui.sources import Sent, stored

pytestmark = pytest.mark.sandbox
_PATIENCE_S = 120


@pytest.mark.parametrize(
    ("old", "new", "sent_count", "said"),
    [
        ('key = "b"', 'key = "c"', 1, ""),
        pytest.param('key = "b"', "key = b", 0, "nothing was answered", marks=pytest.mark.extended),
        pytest.param("because", "because", 0, "q1 waits on", marks=pytest.mark.extended),
    ],
    ids=["changed", "broken", "unchanged"],
)
async def test_a_plan_is_changed_in_the_editor_and_approved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, sent_count: int, said: str
) -> None:
    bench = Bench(tmp_path, calculator(tmp_path / "repo"))
    asks = {"mode": "review", "max_tasks": 1, "paths": [], "tests": []}
    ended = await bench.run(plans("root", {"key": "a"}, {"key": "b"}), approval=asks)
    sent, shown = Sent(), list[str]()

    def edit(place: Path) -> None:
        place.write_text(place.read_text().replace(old, new))

    app = Dashboard(stored(ended.directory), DashboardActions(sent.send, sent.wake, edit, edit))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        assert app._driver is not None
        monkeypatch.setattr(type(app._driver), "can_suspend", True)
        show = app.show_message
        monkeypatch.setattr(app, "show_message", lambda text, **how: (shown.append(text), show(text, **how)))
        await pilot.press("e")
        until = monotonic() + _PATIENCE_S
        while not shown and not app.command_bar.has_class("-holds") and monotonic() < until:
            await pilot.pause(0.05)
        await app.workers.wait_for_complete()
        await pilot.press("q")
    assert not said or said in shown[0]
    assert len(sent.commands) == sent_count
    for command in sent.commands:
        assert isinstance(command, Approve)
        assert command.plan is not None
        assert describe_command(command) == "approve plan/root@1 as edited"
        assert [draft.key for draft in command.plan.tasks] == ["a", "c"]
