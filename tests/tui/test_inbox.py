"""The inbox view: what waits, who asks, what it blocks; all of a question on enter; what was answered below."""

from pathlib import Path

import pytest

from orchestrator.domain.run.approval import Approval
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.tui.view_model import Connection
from orchestrator.tui.views.base_view import DashboardView, Subject
from orchestrator.tui.widgets.text_pager import TextPager
from tests.running.migrating import SED, Migrated, recipe, words
from tests.tui.asking import LANDING, LATER, TIERS, Asking
from tests.tui.sources import SIZES, Still, dashboard, seen
from tests.tui.watching import until

PLAN = Approval(item="plan/root@1", matter="plan", subject="root@1", title="begin 14 tasks")


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_what_waits_is_in_sight_at_every_size_and_inert(size: tuple[int, int]) -> None:
    app = dashboard(Asking(LATER, LANDING, *TIERS))
    async with app.run_test(size=size) as pilot:
        await pilot.press("4")
        await pilot.pause()
        lines = seen(app)
        assert any("land discounts" in line for line in lines)
        assert "Inbox(3)" in lines[1]
        await pilot.press("enter")
        await pilot.pause()
        text = "\n".join(seen(app))
        assert "[bold]prices.py" in text
        assert "\x1b" not in text
        await pilot.press("escape")
        await pilot.pause()
        assert not app.view_stack.current_view.has_class("-detail")  # type: ignore[union-attr]


async def test_a_question_says_since_when_who_asks_and_what_it_blocks() -> None:
    app = dashboard(Asking(LATER, LANDING))
    async with app.run_test(size=(200, 60)) as pilot:
        await pilot.press("4")
        await pilot.pause()
        (row,) = [line for line in seen(app)[2:] if line.lstrip("│> ").startswith("q1 ")]
        for word in ("1m", "queue discounts", "landing", "waits", "discounts and 1 after it"):
            assert word in row
        assert "4 Inbox(1)" in seen(app)[1]
        assert "[oldest 1m]" in seen(app)[1]


async def test_answers_stand_below_what_waits_and_cursor_and_place_stay() -> None:
    source = Asking(LATER, *TIERS, LANDING)
    app = dashboard(source)
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.press("4", "j", "j", "enter")
        detail = app.view_stack.current_view.query_one(TextPager)  # type: ignore[union-attr]
        source.answered(TIERS[0].item, by="ada", reason="vendored")
        app.update_from_source()
        await pilot.pause()
        assert "item      q3 landing/discounts@2" in "\n".join(seen(app))
        await pilot.press("escape")
        await until(pilot, lambda: "approved by ada" in "\n".join(seen(app)))
        assert not detail.has_focus
        rows = [line for line in seen(app)[4:] if line[0] == "│" and ("landing" in line or "tier" in line)]
        assert "approved by ada" in rows[2]
        assert "vendored" in rows[2]
        assert rows[1].startswith("│>")
        assert app.view_stack.current_view.selected_subjects[0].id == LANDING.item  # type: ignore[union-attr]


async def test_when_a_question_has_its_answer_the_cursor_goes_to_the_next_one() -> None:
    source = Asking(LATER, *TIERS)
    app = dashboard(source)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("4", "enter")
        source.answered(TIERS[0].item)
        view = app.view_stack.current_view
        assert view is not None
        await until(pilot, lambda: [one.id for one in view.selected_subjects] == [TIERS[1].item])
        assert not view.has_class("-detail")


async def test_a_question_that_is_opened_in_the_fleet_has_the_cursor_in_the_inbox() -> None:
    app = dashboard(Asking(LATER, *TIERS, PLAN))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert app.view_stack.current_view is not None
        app.view_stack.current_view.post_message(DashboardView.OpenRequested(Subject("approval", PLAN.item)))
        await pilot.pause()
        await pilot.pause()
        assert app.view_stack.tab_key == "4"
        assert [one.id for one in app.view_stack.current_view.selected_subjects] == [PLAN.item]


@pytest.mark.extended
@pytest.mark.sandbox
async def test_what_a_migration_is_to_land_is_seen_before_it_is_approved(tmp_path: Path) -> None:
    root = words(tmp_path / "repo", {"tests/one.txt": "old", "tests/two.txt": "else"})
    ended = await Migrated(root).run(recipe({"run": SED}), approval={"mode": "review"})
    assert ended.exit_code == 6
    source = Still(tuple(read_all_events(ended.directory.journal)), connection=Connection.IDLE)
    app = dashboard(source)
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press("4", "D")
        await until(pilot, lambda: any("+new" in line for line in seen(app)))
        text = seen(app)
        assert any("-old" in line for line in text)
        assert any("diff --git a/tests/one.txt b/tests/one.txt" in line for line in text)
        assert "asks you" in text[0]


async def test_the_inbox_is_filtered_by_its_fields() -> None:
    source = Asking(LATER, *TIERS, LANDING)
    source.answered(TIERS[0].item)
    app = dashboard(source)
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.press("4", "/", *"matter:tier state:ask", "enter")
        await pilot.pause()
        assert [row for row in seen(app) if "wants the registries" in row and "csv" in row] == []
        assert any("reporting/monthly wants the registries" in row for row in seen(app))
