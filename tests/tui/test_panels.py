"""Panels, gauges, previews and empty screens: what is seen of a run before anything is opened."""

from dataclasses import replace

import pytest

from orchestrator.domain.run.state import RunState
from orchestrator.tui.gauges import build_gauge_line, count_landings
from orchestrator.tui.settings import DashboardSettings
from orchestrator.tui.theme import DARK_SCHEME
from orchestrator.tui.widgets.panel import Panel
from orchestrator.tui.widgets.styled_text import get_raw_text
from orchestrator.tui.widgets.table import Table
from tests.tui.asking import LANDING, LATER, TIERS, Asking
from tests.tui.sources import Still, dashboard, kept, seen
from tests.tui.watching import until


def limited(state: RunState, **budget: float) -> RunState:
    """The same run with other limits."""
    assert state.started is not None
    settings = {**state.started.settings, "budget": {**state.started.settings.get("budget", {}), **budget}}
    return replace(state, started=state.started.model_copy(update={"settings": settings}))


def gauges(state: RunState, width: int = 200, *, is_ascii: bool = False) -> str:
    assert state.last_at is not None
    return get_raw_text(list(build_gauge_line(state, state.last_at, width, is_ascii=is_ascii)))


def test_every_limit_that_is_set_has_a_gauge_and_no_other() -> None:
    state = Asking(LATER).state
    plain, full = gauges(state), gauges(limited(state, usd=5, tokens=40_000, calls=24, wall_s=3600))
    assert "tasks" in plain
    assert not any(word in plain for word in ("tokens", "calls", "time"))
    for words in ("$0.00 of $5.00", "19k of 40k", "12 of 24", "of 1h"):
        assert words in full


def test_a_budget_that_is_nearly_used_is_a_warning() -> None:
    state = limited(Asking(LATER).state, tokens=20_000)
    assert state.last_at is not None
    styles = {style for text, style in build_gauge_line(state, state.last_at, 200) if "━" in text}
    assert "warn" in styles


def test_landings_over_time_are_as_many_as_have_landed() -> None:
    state = Still(kept("goal.v2")).state
    assert state.last_at is not None
    counts = count_landings(state, state.last_at, 12)
    assert sum(counts) == len(state.landed_units) > 1
    assert "landings" in gauges(state)


def test_gauges_fit_any_width_and_plain_terminals() -> None:
    state = limited(Still(kept("migration.v1")).state, usd=5, tokens=40_000)
    for width in (30, 60, 100, 200):
        assert len(gauges(state, width)) <= width
    assert gauges(state, is_ascii=True).isascii()


@pytest.mark.parametrize("theme", ["dark", "light"])
async def test_the_panel_with_the_focus_has_a_frame_in_the_accent_colour(theme: str) -> None:
    app = dashboard(Asking(LATER, LANDING), look=DashboardSettings(theme=f"orchestrate-{theme}"))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "land discounts@2" in "\n".join(seen(app)))
        rows, preview = app.query(Panel)
        accent = app.current_theme.primary
        assert rows.styles.border_top[1].hex.lower() == accent
        assert preview.styles.border_top[1].hex.lower() != accent
        await pilot.press("tab")
        await until(pilot, lambda: preview.styles.border_top[1].hex.lower() == accent)
    assert DARK_SCHEME.colours["blue"] != DARK_SCHEME.edge


async def test_a_row_that_asks_is_previewed_with_its_detail_and_the_keys() -> None:
    app = dashboard(Asking(LATER, LANDING, TIERS[0]))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "it changes a path to be looked at: shop/[bold]prices.py" in "\n".join(seen(app)))
        assert any("a approve" in line and line.startswith("╰") for line in seen(app))
        await pilot.press("j")
        await until(pilot, lambda: "to install a parser" in "\n".join(seen(app)))


async def test_a_row_that_failed_is_previewed_with_its_reason_its_tests_and_what_to_do() -> None:
    app = dashboard(Still(kept("migration.v1")))
    async with app.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: "fails: tests.test_templates" in "\n".join(seen(app)))
        shown = "\n".join(seen(app))
        assert "AssertionError" in shown
        assert "orchestrate migrate retry" in shown
        await pilot.press("2")
        await pilot.resize_terminal(120, 48)
        await until(pilot, lambda: "fails: tests.test_templates" in "\n".join(seen(app)))


EARLY = {"goal.v2": "123456", "migration.v1": "12346"}


@pytest.mark.parametrize("name", EARLY)
async def test_an_empty_screen_says_what_will_appear(name: str) -> None:
    app = dashboard(Still(kept(name), 1))
    async with app.run_test(size=(120, 40)) as pilot:
        for key in EARLY[name]:
            await pilot.press(key)
            await pilot.pause()
            app.update_from_source()
            await pilot.pause()
            view = app.view_stack.current_view
            assert view is not None
            if not any(table.rows for table in view.query(Table)) and key != "6":
                assert "appear" in "\n".join(seen(app)), key


@pytest.mark.parametrize("name", ["goal.v2", "migration.v1"])
@pytest.mark.parametrize("size", [(20, 5), (8, 3), (40, 12)], ids=str)
async def test_every_tab_can_be_drawn_in_a_tiny_window(name: str, size: tuple[int, int]) -> None:
    app = dashboard(Still(kept(name)))
    async with app.run_test(size=size) as pilot:
        for keys in ("1", "2", "3", "4", "5", "6", "1 enter d"):
            await pilot.press(*keys.split())
            await pilot.pause()
            assert len(seen(app)) == size[1]
    assert app.crash_error is None
