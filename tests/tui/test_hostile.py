"""Runs in which every word is an attack: whatever is looked at, the terminal gets nothing but cells that lie there."""

from pathlib import Path

import anyio
import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from tests.tui.asking import AT_WORK
from tests.tui.hostile import ATTACK, dangers, hostile_events, hostile_journal
from tests.tui.sources import Sent, Still, dashboard, seen, stored


@pytest.mark.parametrize("name", ["goal.v2", "migration.v1"])
async def test_nothing_of_a_hostile_run_reaches_the_terminal_from_any_view(name: str, tmp_path: Path) -> None:
    events = stored(hostile_journal(tmp_path / "run", name)).events
    app = dashboard(Still(events, AT_WORK, directory=tmp_path / "run"))
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.pause()
        for key in (*"123456", "1", "enter", *"deif", "escape", "3", "enter", "escape", "?", "escape"):
            await pilot.press(key)
            app.update_from_source()
            await pilot.pause(0.02)
            assert {char for line in seen(app) for char in dangers(line)} == set(), key
            assert seen(app)[0].endswith("LIVE")


async def test_what_is_told_of_a_command_on_a_hostile_thing_is_inert(tmp_path: Path) -> None:
    events = stored(hostile_journal(tmp_path / "run", "goal.v2")).events
    app = dashboard(Still(events, AT_WORK, directory=tmp_path / "run"), Sent())
    async with app.run_test(size=(120, 30), notifications=True) as pilot:
        await pilot.pause()
        app.command_bar.run_typed_command(f'retry discounts --note "{ATTACK.replace(chr(92), "")}"')
        app.show_message(ATTACK, is_problem=True)
        await pilot.pause(0.1)
        text = "\n".join(seen(app))
        assert "retry discounts" in text
        assert "[bold][/bold]" in text
        assert [one.message for one in app._notifications] == [ATTACK]
        assert dangers(text) - {"\n"} == set()


_KEYS = (
    *"123456[]Ly?:adprxKHUPSu.><Qjkgs zvtcEFWVnNYeifwB|{}*hoé",
    *("escape", "enter", "slash", "ctrl+c", "ctrl+p", "tab", "shift+tab", "pagedown", "end", "home", "left", "right"),
)
_SIZES = ((1, 1), (2, 3), (20, 5), (40, 12), (80, 24), (120, 30), (400, 120))
_STEPS = st.lists(st.one_of(st.sampled_from(_KEYS), st.sampled_from(_SIZES), st.integers(1, 60)), max_size=25)


@pytest.mark.slow
@settings(max_examples=10, deadline=None, phases=(Phase.explicit, Phase.generate))
@example("goal.v2", ["Q", (1, 1), (2, 3)])
@example("goal.v2", [(1, 1), "ctrl+c", "ctrl+c", "?", "escape", ":", (400, 120)])
@example("migration.v1", ["2", "t", "t", "t", " ", "x", (2, 3), "escape", "3", "enter", (1, 1)])
@given(st.sampled_from(["goal.v2", "migration.v1"]), _STEPS)
def test_no_keys_and_no_sizes_end_the_dashboard_or_take_its_frame_away(
    name: str, steps: list[str | tuple[int, int] | int]
) -> None:
    anyio.run(_go_through, name, steps)


async def _go_through(name: str, steps: list[str | tuple[int, int] | int]) -> None:
    """Press keys, change the size, let the run go on; then look whether all is still there."""
    app = dashboard(Still(hostile_events(name), AT_WORK))
    async with app.run_test(size=(120, 30)) as pilot:
        for step in steps:
            if isinstance(step, str):
                await pilot.press(step)
            elif isinstance(step, tuple):
                await pilot.resize_terminal(*step)
            else:
                app.update_from_source()
        await pilot.resize_terminal(120, 30)
        while len(app.screen_stack) > 1:
            app.pop_screen()
        app.update_from_source()
        await pilot.pause()
        lines = seen(app)
        assert lines[0].endswith("LIVE")
        assert lines[-1].endswith("q detach")
        assert {char for line in lines for char in dangers(line)} == set()
