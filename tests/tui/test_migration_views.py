"""Burndown, shards, cost and log of a migration: of a real one, and of one that never was."""

from collections.abc import Callable

import pytest

from orchestrator.domain.event.migration import FileMoved, FilesFound
from orchestrator.domain.fold.projection import fold_events
from orchestrator.domain.migration.files import FileStatus
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.report.rows.row_filter import parse_filter
from orchestrator.tui.settings import DashboardSettings
from orchestrator.tui.view_model import ViewModel
from orchestrator.tui.views.base_view import DashboardView
from orchestrator.tui.views.burndown import BurndownView
from orchestrator.tui.views.cost import CostView
from orchestrator.tui.views.log import LogView
from orchestrator.tui.views.merge import MergeView
from orchestrator.tui.widgets.table import Table
from tests.running.migrated import DAY, WHY, begun, found, recorded, story
from tests.running.recorded import migration_run
from tests.running.views import SIZES, Alone, moment_of, moment_told, shown

VIEWS: dict[Callable[[], DashboardView], str] = {
    BurndownView: "ValueError: wrong",
    MergeView: "lib.r1",
    CostView: "per merged file",
    LogView: "partial",
}


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    return migration_run(tmp_path_factory.mktemp("migration"))


@pytest.fixture(scope="module")
def real(directory: RunDirectory) -> ViewModel:
    return moment_of(directory)


def made_up() -> ViewModel:
    events = recorded(story())
    return moment_told(fold_events(events), events[-1].at, tuple(events))


def table(app: Alone) -> Table:
    """The one that is seen."""
    return next(one for one in app.view.query(Table) if one.display)


@pytest.mark.sandbox
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("make", VIEWS, ids=lambda make: make.__name__)
async def test_what_matters_is_seen_at_every_size(
    make: Callable[[], DashboardView], size: tuple[int, int], real: ViewModel
) -> None:
    app = Alone(make)
    async with app.run_test(size=size) as pilot:
        await shown(pilot, app, real)
        assert VIEWS[make] in app.text or make is LogView
        for other in ((60, 15), size):
            await pilot.resize_terminal(*other)
            await pilot.pause()
        app.view.show_view_model(real)
        await pilot.pause()
        assert [len(line) <= size[0] for line in app.lines] == [True] * size[1]


@pytest.mark.sandbox
async def test_return_goes_from_a_failure_to_its_files_to_the_file_and_escape_back(real: ViewModel) -> None:
    app = Alone(BurndownView)
    async with app.run_test(size=(120, 36)) as pilot:
        await shown(pilot, app, real)
        await pilot.press("enter")
        assert [row.key for row in table(app).rows] == ["lib/wrong.txt"]
        assert "failures > ValueError: wrong is not allowed" in app.text
        assert [one.id for one in app.view.selected_subjects] == ["lib/wrong.txt"]
        await pilot.press("enter")
        assert app.opened == [("file", "lib/wrong.txt")]
        await pilot.press("escape")
        assert [row.key for row in table(app).rows] == ["ValueError: wrong is not allowed"]
        assert table(app).has_focus


@pytest.mark.sandbox
async def test_wide_screens_have_both_charts_small_ones_none_and_c_takes_the_other(real: ViewModel) -> None:
    for size, sites, files in (((140, 40), True, True), ((80, 24), True, False), ((40, 12), False, False)):
        app = Alone(BurndownView)
        async with app.run_test(size=size) as pilot:
            await shown(pilot, app, real)
            assert ("sites that remain, over" in app.text, "files, over" in app.text) == (sites, files), size
            if size == (80, 24):
                await pilot.press("c")
                assert "files, over" in app.text
                assert "█ landed 6" in app.text


async def test_where_only_ascii_can_be_shown_nothing_else_is() -> None:
    for make in VIEWS:
        app = Alone(make, DashboardSettings(is_ascii=True))
        async with app.run_test(size=(140, 40)) as pilot:
            await shown(pilot, app, made_up())
            assert app.text.isascii(), make


async def test_each_table_keeps_its_cursor_and_a_group_leads_to_its_files() -> None:
    app = Alone(BurndownView)
    async with app.run_test(size=(120, 40)) as pilot:
        await shown(pilot, app, made_up())
        await pilot.press("t", "down")
        assert table(app).cursor == "@lib"
        await pilot.press("enter")
        assert {row.key for row in table(app).rows} == {f"lib/test_{name}.py" for name in "efg"}
        await pilot.press("escape", "t", "t", "t", "t")
        assert table(app).cursor == "@lib"
        assert {one.id for one in app.view.selected_subjects} == {f"lib/test_{name}.py" for name in "efg"}


async def test_a_filter_for_what_only_files_have_shows_files() -> None:
    app = Alone(BurndownView)
    async with app.run_test(size=(120, 40)) as pilot:
        await shown(pilot, app, made_up())
        app.view.apply_filter(parse_filter("status:reverted", BurndownView.FIELDS))
        assert [row.key for row in table(app).rows] == ["lib/test_e.py"]
        assert app.view.status_text == "1 of 9"
        app.view.apply_filter(parse_filter("", ()))
        assert WHY in [row.key for row in table(app).rows]


async def test_the_cursor_stays_on_its_file_while_others_move() -> None:
    files = [found(f"d{n // 50}/f{n:04}.py", 1) for n in range(2_000)]
    events = [*begun(), FilesFound(files=tuple(files))]
    app = Alone(BurndownView)
    async with app.run_test(size=(120, 40)) as pilot:
        await shown(pilot, app, moment_told(fold_events(recorded(events)), DAY))
        await pilot.press("t", "t", "t")
        table(app).move_to("d20/f1000.py")
        moves = [FileMoved(path=f"d0/f{n:04}.py", status=FileStatus.RESTORED, rung=0, reason="no") for n in range(9)]
        app.view.show_view_model(moment_told(fold_events(recorded([*events, *moves])), DAY))
        app.view.apply_filter(parse_filter("", ()))  # paints, also if the view rests
        assert table(app).cursor == "d20/f1000.py"
        assert table(app).rows[0].key == "d0/f0000.py"
        assert len(table(app).rows) == 2_000


async def test_shards_tell_what_landed_what_was_taken_back_and_their_files() -> None:
    app = Alone(MergeView)
    async with app.run_test(size=(140, 40)) as pilot:
        await shown(pilot, app, made_up())
        assert app.lines[0].startswith("wave 2 (sweep)  2 of 3 shards landed  1 rolled back")
        assert [one.id for one in app.view.selected_subjects] == ["sample"]
        await pilot.press("enter")
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert "reverted" in app.text and "lib/test_e.py: rolled back: it was too early" in app.text
        await pilot.press("escape")
        assert table(app).cursor == "sample"


@pytest.mark.extended
async def test_words_of_models_and_repositories_lie_inert_in_every_view() -> None:
    for make in VIEWS:
        app = Alone(make)
        async with app.run_test(size=(200, 60)) as pilot:
            await shown(pilot, app, made_up())
            assert "\x1b" not in app.text and "\x07" not in app.text
            assert make is not BurndownView or "=cmd|' /C calc'!A1" in app.text
