"""The frame of the dashboard: header, tabs, filter, keys, help, commands and ways to leave, at every size."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from anyio import sleep
from textual.pilot import Pilot
from textual.widgets import Input, Label

from orchestrator.domain.commands.definitions import Stop
from orchestrator.errors import UsageProblem
from orchestrator.report.rows.activity import ACTIVITY_GLYPHS
from orchestrator.tui.app import Dashboard
from orchestrator.tui.keymap import GLOBAL_KEYS, format_keys
from orchestrator.tui.run_feed.playback_clock import PlaybackClock
from orchestrator.tui.screens.narrowed_lists import KeyHelp
from orchestrator.tui.settings import DashboardSettings
from orchestrator.tui.view_model import Connection
from orchestrator.tui.view_stack import BURNDOWN_TAB, TABS, load_view_class
from orchestrator.tui.widgets.table import Table
from tests.running.journals import fleet_journal
from tests.running.mistakes import assert_said
from tests.tui.sources import IN_THE_MIDDLE, SIZES, Sent, Still, dashboard, kept, seen, stored, strips
from tests.tui.watching import until


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("name", ["goal.v2", "migration.v1"])
async def test_run_tabs_and_keys_are_in_sight_at_every_size(size: tuple[int, int], name: str) -> None:
    source = Still(kept(name), 40)
    app = dashboard(source)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        lines = seen(app)
        assert source.state.run.run[-4:] in lines[0]
        assert lines[0].endswith("LIVE")
        assert lines[1].startswith(" 1 Fleet")
        assert lines[-1].endswith("? help  q detach")
        assert ("small terminal" in lines[-1]) == (size == (40, 12))


async def test_a_window_with_room_for_nearly_nothing_shows_what_fits() -> None:
    source = Still(kept("goal.v2"), IN_THE_MIDDLE)
    app = dashboard(source)
    async with app.run_test(size=(20, 5)) as pilot:
        await pilot.press("2", "j", "enter", "escape")
        lines = seen(app)
        assert (len(lines), max(map(len, lines)) <= 20, "LIVE" in lines[0]) == (5, True, True)
        assert_said("a window of 20 by 5 letters", "\n".join(lines))


@pytest.mark.extended
async def test_resizing_while_it_runs_keeps_the_frame() -> None:
    source = Still(kept("goal.v2"), IN_THE_MIDDLE)
    app = dashboard(source)
    async with app.run_test(size=(200, 60)) as pilot:
        for at, size in enumerate([*SIZES, (60, 15), (300, 90)]):
            source.go_to(IN_THE_MIDDLE + 20 * at)
            await pilot.resize_terminal(*size)
            app.update_from_source()
            await pilot.pause()
            lines = seen(app)
            assert (len(lines), lines[-1].endswith("q detach"), "LIVE" in lines[0]) == (size[1], True, True)


async def test_a_click_on_a_key_that_is_named_presses_it() -> None:
    app = dashboard()
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.pause()
        await pilot.click("#keys", offset=(seen(app)[-1].index("? help"), 0))
        await until(pilot, lambda: isinstance(app.screen, KeyHelp))
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, KeyHelp))
        await pilot.click("#keys", offset=(seen(app)[-1].index("/ filter") + 4, 0))
        await until(pilot, lambda: isinstance(app.focused, Input))


@pytest.mark.parametrize("way", ["key", "click", "turn"])
async def test_every_tab_comes_to_the_front_by_key_and_by_click(way: str) -> None:
    app = dashboard()
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.pause()
        for key, title in zip("234561", ["Plan", "Merge", "Inbox", "Cost", "Log", "Fleet"], strict=True):
            if way == "click":
                await pilot.click("#tabs", offset=(seen(app)[1].index(f"{key} {title}"), 0))
            else:
                await pilot.press(key if way == "key" else "]")
            await pilot.pause()
            view = app.view_stack.current_view
            assert (app.view_stack.current, view and view.TITLE, view and view.display) == (f"tab-{key}", title, True)


async def test_the_chosen_one_of_two_hundred_stays_in_sight_at_every_size(tmp_path: Path) -> None:
    app = dashboard(stored(fleet_journal(tmp_path / "run", workers=200, lines=0, turns=1)))
    async with app.run_test(size=SIZES[0]) as pilot:
        await pilot.pause()
        table = app.query_one(Table)
        table.action_move(120)
        for size in SIZES:
            await pilot.resize_terminal(*size)
            app.update_from_source()
            await pilot.pause()
            chosen = [line for line in seen(app) if line.strip("│").startswith(">")]
            assert len(chosen) == 1
            assert "at work" in chosen[0]


async def at_rest(app: Dashboard, pilot: Pilot[None]) -> list[str]:
    """What is in front, once it is drawn to its end: views rest between two paintings, and bars follow."""
    last: list[str] = []
    while last != (now := seen(app)[2:-1]):
        last = now
        await pilot.pause(1.2)
    return now


@pytest.mark.extended
async def test_the_way_back_leads_to_where_one_was(tmp_path: Path) -> None:
    app = dashboard(stored(fleet_journal(tmp_path / "run", workers=200, lines=0, turns=1)))
    async with app.run_test(size=(100, 24)) as pilot:
        await pilot.pause()
        table = app.query_one(Table)
        table.action_move(90)
        drawn = await at_rest(app, pilot)
        before = (table.cursor, table.scroll_offset, drawn)
        await pilot.press("enter")
        await pilot.pause()
        assert app.view_stack.current == "whole"
        await pilot.press("escape")
        await at_rest(app, pilot)
        assert (table.cursor, table.scroll_offset, seen(app)[2:-1]) == before
        assert table.has_focus
        await pilot.press("4", "1")
        await pilot.pause()
        assert (table.cursor, table.scroll_offset) == before[:2], "another tab changes nothing either"


async def test_a_migration_has_its_burndown_for_a_plan() -> None:
    app = dashboard(Still(kept("migration.v1")))
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.press("2")
        await pilot.pause()
        assert " 2 Burndown " in seen(app)[1]
        assert app.view_stack.current_view is not None
        assert app.view_stack.current_view.TITLE == "Burndown"


async def test_how_a_run_is_connected_is_told() -> None:
    source = Still(kept("goal.v2"), IN_THE_MIDDLE)
    app = dashboard(source, look=DashboardSettings(is_read_only=True))
    async with app.run_test(size=(120, 30)) as pilot:
        told = []
        for connection in Connection:
            source.connection, source.stale_s = connection, 3.2
            app.update_from_source()
            await pilot.pause()
            told.append(seen(app)[0].partition("  RO")[2].strip())
        assert told == ["LIVE", "STALE 3s", "", "ENDED", "REPLAY"]


async def test_a_filter_is_typed_recalled_and_cleared() -> None:
    app = dashboard()
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.press("slash", *"pars", "enter")
        await pilot.pause()
        assert "filter: pars" in seen(app)[1]
        await pilot.press("escape")
        await pilot.pause()
        assert "filter:" not in seen(app)[1]
        await pilot.press("slash")
        await pilot.pause()
        assert (app.query_one(Input).value, "filter: pars" in seen(app)[1]) == ("pars", True)
        await pilot.press("escape")
        await pilot.pause()
        assert not app.view_stack.current_filter.terms
        await pilot.press("slash", *"no:x", "enter")
        await pilot.pause()
        assert "no field 'no'" in "\n".join(seen(app)), "what is wrong is said, and can be mended"
        await pilot.press("escape", "2")
        await pilot.pause()
        assert app.view_stack.current == "tab-2", "keys are keys again"


async def test_each_tab_keeps_its_filter() -> None:
    app = dashboard()
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.press("slash", *"shop", "enter", "2")
        await pilot.pause()
        assert "filter:" not in seen(app)[1]
        await pilot.press("1")
        await pilot.pause()
        assert "filter: shop" in seen(app)[1]


async def test_help_can_be_searched_and_names_the_command_that_does_the_same() -> None:
    app = dashboard()
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.press("question_mark")
        app.screen.query_one(Input).value = "lines print"
        await pilot.pause()
        found = [" ".join(line.split()) for line in seen(app) if "orchestrate logs" in line]
        assert [line[line.index(">") :].rstrip("│ ") for line in found] == [
            "> L print all lines of what is in front, and follow orchestrate logs --follow"
        ]
        await pilot.press("escape")
        await pilot.pause()
        await pilot.press("3")
        await pilot.pause()
        assert app.view_stack.current == "tab-3"


@pytest.mark.parametrize("keys", ["1", "2", "3", "4", "5", "6", ["1", "enter"], ["1", "enter", "d"]], ids="-".join)
async def test_help_has_every_key_that_holds_where_one_is(keys: Sequence[str]) -> None:
    app = dashboard()
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.press(*keys)
        await pilot.pause()
        bound = {key for key, held in app.screen.active_bindings.items() if held.node is not app.screen}
        await pilot.press("question_mark")
        await pilot.pause()
        rows = [str(row.cells["key"][0]) for row in app.screen.query_one(Table).rows]
        told = {key for row in rows for key in ({row} if row == "/" else re.split("[ /]", row))}
        assert {format_keys(key) for key in bound - {"ctrl+q"}} - told == set()


async def test_help_has_a_key_as_what_it_does_where_one_is() -> None:
    app = dashboard()
    async with app.run_test(size=(120, 30)) as pilot:
        told = []
        for keys in (["1"], ["2"], ["1", "enter", "d"]):
            await pilot.press(*keys)
            await pilot.pause()
            await pilot.press("question_mark")
            await pilot.pause()
            rows = app.screen.query_one(Table).rows
            told.append({str(row.cells["key"][0]): row.cells["words"] for row in rows})
            await pilot.press("escape")
            await pilot.pause()
        fleet, plan, change = told
        assert (fleet["S"], plan["S"]) == ("sort the other way round", "send what was said of lines")
        assert (fleet["d"], "d" in change) == ("answer no, with a note", False)
        assert (fleet["]"], change["[ ]"]) == ("next tab", "hunk")


async def test_a_command_that_there_is_not_is_told_where_it_was_typed() -> None:
    sent = Sent()
    app = dashboard(sent=sent)
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.press("colon", *"fly", "enter")
        await pilot.pause()
        assert "fly" in "\n".join(seen(app)[-3:-1])
        assert sent.commands == []


async def test_tabs_filters_and_leaving_can_be_typed() -> None:
    app = dashboard()
    async with app.run_test(size=(120, 30)) as pilot:
        for typed in ("log", "filter task", "quit"):
            await pilot.press("colon")
            await pilot.pause()
            app.screen.query_one(Input).value = typed
            await pilot.press("enter")
            await pilot.pause()
        assert app.view_stack.current == "tab-6"
        assert app.view_stack.current_filter.text == "task"
    assert not app.is_running


@pytest.mark.parametrize(("key", "how"), [("r", "drain"), ("s", "interrupt"), ("d", None)])
async def test_ctrl_c_twice_asks_how_to_leave(key: str, how: str | None) -> None:
    sent = Sent()
    app = dashboard(sent=sent)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("ctrl+c")
        await pilot.pause()
        assert len(app.screen_stack) == 1
        await pilot.press("ctrl+c")
        await pilot.pause()
        assert "Leave the dashboard how?" in "\n".join(seen(app))
        await pilot.press(key)
        await pilot.pause()
    assert sent.commands == ([Stop(how=how)] if how else [])
    assert (app.return_code, app.is_running) == (0, False)


async def test_who_may_only_look_can_only_leave() -> None:
    sent = Sent()
    app = dashboard(sent=sent, look=DashboardSettings(is_read_only=True))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("Q", "s", "r")
        await pilot.pause()
        assert "Drain" not in "\n".join(seen(app))
        await pilot.press("escape")
        await pilot.pause()
        assert len(app.screen_stack) == 1
    assert sent.commands == []


async def test_a_stop_that_cannot_be_sent_is_told_and_nobody_leaves() -> None:
    app = dashboard(sent=Sent(refuses=True))
    async with app.run_test(size=(120, 30), notifications=True) as pilot:
        await pilot.press("Q")
        await pilot.pause()
        await pilot.press("s")
        await pilot.pause(0.2)
        assert "make it writable" in " ".join(" ".join(seen(app)).split())
        assert app.is_running


async def test_leaving_does_what_was_left_to_do_once_and_ends_nothing() -> None:
    sent, source, done = Sent(), Still(kept("goal.v2"), IN_THE_MIDDLE), []
    app = dashboard(source, sent)
    async with app.run_test(size=(80, 24)) as pilot:
        app.exit_hooks.append(lambda: done.append("sent"))
        await pilot.press("q")
        await pilot.pause()
    app.run_exit_hooks()
    assert (app.return_code, sent.commands, done, source.is_closed) == (0, [], ["sent"], True)


async def test_keys_are_others_where_the_user_wants_that() -> None:
    app = dashboard(look=DashboardSettings(keys={"detach": "f10", "tab-2": "f8"}))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("q", "f8")
        await pilot.pause()
        assert (app.view_stack.current, app.is_running) == ("tab-2", True)
        await pilot.press("f10")
        await pilot.pause()
    assert not app.is_running


@pytest.mark.parametrize(("keys", "told"), [({"detach": "y"}, "to copy and to detach"), ({"fly": "f"}, "knows no fly")])
def test_keys_that_cannot_be_are_refused(keys: dict[str, str], told: str) -> None:
    with pytest.raises(UsageProblem, match=told):
        dashboard(look=DashboardSettings(keys=keys))


async def test_without_colours_everything_is_grey_and_still_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = dashboard(Still(kept("goal.v2"), IN_THE_MIDDLE, Connection.STALE))
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.press("question_mark")
        await pilot.pause()
        drawn = [segment.style for strip in strips(app) for segment in strip if segment.style]
        colours = {colour.get_truecolor() for style in drawn for colour in (style.color, style.bgcolor) if colour}
        assert colours
        assert all(red == green == blue for red, green, blue in colours)
        assert "type to search" in "\n".join(seen(app)), "the help is in front"


@pytest.mark.parametrize("name", ["goal.v2", "migration.v1"])
async def test_everything_can_be_drawn_with_ascii_alone(name: str) -> None:
    app = dashboard(Still(kept(name)), look=DashboardSettings(is_ascii=True))
    async with app.run_test(size=(120, 30)) as pilot:
        for key in "234561":
            await pilot.press(key)
            await pilot.pause()
            assert all(line.isascii() for line in seen(app)), key
        assert "+ done" in "\n".join(seen(app))


def test_the_documentation_names_every_key() -> None:
    text = (Path(__file__).parents[2] / "docs" / "watching.md").read_text(encoding="utf-8")
    assert [key.id for key in GLOBAL_KEYS if f"`{key.id}`" not in text] == []


def test_the_documentation_has_every_state_with_its_glyphs_and_what_each_tab_is_filtered_by() -> None:
    text = (Path(__file__).parents[2] / "docs" / "watching.md").read_text(encoding="utf-8")
    for doing, look in ACTIVITY_GLYPHS.items():
        assert f"| `{doing.word}` | {look.glyph} | {look.plain} | " in text
    for tab in (*TABS, BURNDOWN_TAB):
        row = next(line for line in text.splitlines() if line.startswith(f"| {tab.title} | ") and "`" in line)
        assert {*re.findall(r"`([a-z]+)`", row)} == {*load_view_class(tab.path).FIELDS}, tab.title


async def test_a_recording_is_held_sped_up_and_brought_to_its_end() -> None:
    source = Still(kept("goal.v2"), IN_THE_MIDDLE, Connection.REPLAY)
    source.replay = PlaybackClock(20)
    app = dashboard(source)
    async with app.run_test(size=(120, 30)) as pilot:
        told = []
        for key in ("full_stop", "full_stop", "greater_than_sign", "less_than_sign", "less_than_sign"):
            await pilot.press(key)
            await pilot.pause()
            told.append(seen(app)[0].rpartition("REPLAY ")[2])
        assert told == ["HELD", "20x", "40x", "20x", "10x"]
        assert ". hold  < > speed  / filter" in seen(app)[-1]
        await pilot.press("ctrl+end")
        assert source.replay.is_due(kept("goal.v2")[-1].at)


async def test_what_is_wrong_with_a_journal_is_told_above_all_else() -> None:
    source = Still(kept("goal.v2"), IN_THE_MIDDLE)
    source.problem = "journal.db: event 121 is missing; see orchestrate repair"
    app = dashboard(source)
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.pause()
        app.update_from_source()
        await pilot.pause()
        assert seen(app)[3] == source.problem
        source.problem = ""
        app.update_from_source()
        await pilot.pause()
        assert "repair" not in "\n".join(seen(app))


class Slow(Label):
    """What takes its time to go."""

    async def on_unmount(self) -> None:
        await sleep(0.3)


async def test_nothing_is_drawn_or_called_while_the_screens_are_going(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orchestrator.tui.app._TICK_S", 0.01)
    monkeypatch.setattr("orchestrator.tui.app._CALL_S", 0.01)
    app = dashboard()
    async with app.run_test(size=(80, 24)) as pilot:
        await app.screen.mount(Slow())
        await until(pilot, lambda: app.view_model)
    assert app.crash_error is None
