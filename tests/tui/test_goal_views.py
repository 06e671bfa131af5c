"""Plan, queue, cost and log of a real run of a goal: at every size, over refreshes, by their keys."""

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from orchestrator.domain.run.state import RunState
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.report.log.event_lines import DETAIL_KINDS
from orchestrator.report.rows.row_filter import parse_filter
from orchestrator.tui.settings import DashboardSettings
from orchestrator.tui.view_model import ViewModel
from orchestrator.tui.views.base_view import DashboardView
from orchestrator.tui.views.cost import CostView
from orchestrator.tui.views.log import LogView
from orchestrator.tui.views.merge import MergeView
from orchestrator.tui.views.plan import PlanView
from orchestrator.tui.widgets.styled_text import get_clean_text
from orchestrator.tui.widgets.table import Table
from orchestrator.tui.widgets.text_pager import TextPager
from tests.running.goal_events import DAY, created, merged, told
from tests.running.recorded import goal_run
from tests.running.views import SIZES, Alone, moment_of, moment_told, shown

pytestmark = pytest.mark.sandbox
VIEWS: dict[Callable[[], DashboardView], str] = {
    PlanView: "risky",
    MergeView: "maths/left",
    CostView: "root",
    LogView: "ended partial",
}


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    return goal_run(tmp_path_factory.mktemp("goal"))


@pytest.fixture(scope="module")
def moment(directory: RunDirectory) -> ViewModel:
    return moment_of(directory)


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("make", VIEWS, ids=lambda make: make.__name__)
async def test_what_matters_is_seen_at_every_size_and_after_another(
    make: Callable[[], DashboardView], size: tuple[int, int], moment: ViewModel
) -> None:
    app = Alone(make)
    async with app.run_test(size=size) as pilot:
        await shown(pilot, app, moment)
        await pilot.press("right")  # a log's words may begin beyond a small screen
        assert VIEWS[make].split()[-1] in app.text or make is LogView
        for other in ((60, 15), size):
            await pilot.resize_terminal(*other)
            await pilot.pause()
        app.view.show_view_model(moment)
        await pilot.pause()
        assert [len(line) <= size[0] for line in app.lines] == [True] * size[1]


@pytest.mark.parametrize("make", VIEWS, ids=lambda make: make.__name__)
async def test_where_only_ascii_can_be_shown_nothing_else_is(
    make: Callable[[], DashboardView], moment: ViewModel
) -> None:
    app = Alone(make, DashboardSettings(is_ascii=True))
    async with app.run_test(size=(120, 30)) as pilot:
        await shown(pilot, app, moment)
        assert app.text.isascii(), [char for char in app.text if not char.isascii()]


async def test_space_folds_a_branch_and_marks_a_task(moment: ViewModel) -> None:
    app = Alone(PlanView)
    async with app.run_test(size=(120, 30)) as pilot:
        await shown(pilot, app, moment)
        await pilot.press("down", "space")
        assert "maths/left" not in app.text and "▸ maths" in app.text
        await pilot.press("down", "space")
        assert [one.id for one in app.view.selected_subjects] == ["notes"]
        await pilot.press("g", "left")
        assert "notes" not in app.text
        await pilot.press("right", "down", "right", "enter")
        assert "maths/left" in app.text
        assert app.opened == [("task", "maths")]


async def test_small_screens_tell_of_the_task_with_the_cursor_what_they_have_no_column_for(moment: ViewModel) -> None:
    for make, why in ((PlanView, "dependency: it depends on risky"), (MergeView, "diff: it drops the TLS path")):
        app = Alone(make)
        async with app.run_test(size=(40, 12)) as pilot:
            await shown(pilot, app, moment)
            await pilot.press("G")
            assert app.lines[-1].startswith(why)


async def test_v_leaves_what_cannot_go_on_by_itself_and_why(moment: ViewModel) -> None:
    app = Alone(PlanView)
    async with app.run_test(size=(160, 30)) as pilot:
        await shown(pilot, app, moment)
        await pilot.press("v")
        assert [row.key for row in app.view.query_one(Table).rows] == ["root", "after"]
        assert "dependency: it depends on risky" in app.text
        assert app.view.status_text == "only blocked  2 of 7"
        await pilot.press("v")
        assert len(app.view.query_one(Table).rows) == 7


async def test_the_cursor_stays_on_its_task_while_others_come_and_a_filter_goes() -> None:
    events = [event for n in range(40) for event in (created(f"t{n:02}"), *merged(f"t{n:02}"))]
    app = Alone(PlanView)
    async with app.run_test(size=(80, 24)) as pilot:
        await shown(pilot, app, moment_told(told(*events), DAY))
        table = app.view.query_one(Table)
        table.move_to("t30")
        await pilot.pause()
        seen = table.scroll_offset.y
        more = [created("a0", "t05"), created("z9")]
        await shown(pilot, app, moment_told(told(*events, *more), DAY))
        assert (table.cursor, table.scroll_offset.y - seen) in {("t30", 0), ("t30", 1)}
        app.view.apply_filter(parse_filter("t3", ("task",)))
        assert (table.cursor, app.view.status_text) == ("t30", "11 of 43")
        app.view.apply_filter(parse_filter("", ()))
        assert (table.cursor, len(table.rows)) == ("t30", 43)


async def test_a_large_plan_begins_folded_below_its_first_branches() -> None:
    events = [
        event
        for n in range(20)
        for event in (created(f"b{n}", kind="branch"), *(created(f"b{n}/t{m}", f"b{n}") for m in range(50)))
    ]
    app = Alone(PlanView)
    async with app.run_test(size=(80, 24)) as pilot:
        await shown(pilot, app, moment_told(told(*events), DAY))
        table = app.view.query_one(Table)
        assert [row.key for row in table.rows] == ["root", *(f"b{n}" for n in range(20))]
        await pilot.press("z")
        assert len(table.rows) == 1 + 20 * 51


async def test_what_has_not_changed_is_not_made_again(moment: ViewModel) -> None:
    class Counting(PlanView):
        painted = 0

        def paint_view(self, moment: ViewModel) -> None:
            self.painted += 1
            super().paint_view(moment)

    app = Alone(Counting)
    async with app.run_test(size=(80, 24)) as pilot:
        await shown(pilot, app, moment)
        before = app.query_one(Counting).painted
        for _ in range(5):
            app.view.show_view_model(replace(moment))
        assert app.query_one(Counting).painted == before


async def test_return_shows_why_a_unit_did_not_land_and_escape_goes_back(moment: ViewModel) -> None:
    app = Alone(MergeView)
    async with app.run_test(size=(120, 40)) as pilot:
        await shown(pilot, app, moment)
        assert "conflicts in calc.py" in app.text
        await pilot.press("G", "enter")
        await app.workers.wait_for_complete()
        await pilot.pause()
        for words in (
            *("judge's report on risky@1", "verdict: reject, refused-by-review", "why: diff: it drops the TLS path"),
            *("before, on the base: gate: 2 passed", "against the base: no test differs", "for risky attempt 1"),
        ):
            assert words in app.text, words
        await pilot.press("escape")
        await pilot.pause()
        assert app.view.query_one(Table).cursor == "risky@1"
        assert "judge's report" not in app.text


async def test_a_receipt_in_the_report_holds_its_tests_against_those_of_the_base(moment: ViewModel) -> None:
    app = Alone(MergeView)
    async with app.run_test(size=(160, 60)) as pilot:
        await shown(pilot, app, moment)
        await pilot.press("enter")
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert "landed at" in app.text
        for _ in range(100):  # the report is read beside the screen, and drawn when the screen has time
            if "is done" in app.text:
                break
            await pilot.pause(0.05)
        assert re.search(r"met  (left|right) is done", app.text)
        assert "test_add (test_calc.CalcTest.test_add) ... ok" in app.text


async def test_the_cost_is_seen_from_every_side_and_over_time(moment: ViewModel) -> None:
    app = Alone(CostView)
    async with app.run_test(size=(120, 30)) as pilot:
        await shown(pilot, app, moment)
        assert "each 10 min" in app.text
        sides = []
        for _ in range(5):
            sides.append(app.view.status_text)
            await pilot.press("t")
        assert sides == ["by task", "by role", "by model", "by outcome", "by waste"]
        await pilot.press("s", "g")
        assert app.view.query_one(Table).cursor == "root"


async def test_a_cost_whose_events_are_no_longer_at_hand_is_read_from_the_journal(directory: RunDirectory) -> None:
    curves = []
    for recent in (1_000, 5, 0):
        app = Alone(CostView)
        async with app.run_test(size=(120, 30)) as pilot:
            await shown(pilot, app, moment_of(directory, recent))
            await pilot.pause()
            curves.append([line for line in app.lines if line.startswith("over time")])
    assert curves[0] == curves[1] == curves[2]
    assert "█" in curves[0][0]


async def test_the_log_has_every_event_of_the_journal_also_those_no_longer_at_hand(directory: RunDirectory) -> None:
    events = list(read_all_events(directory.journal))
    for recent in (1_000, 20, 0):
        app = Alone(LogView)
        async with app.run_test(size=(120, 30)) as pilot:
            await shown(pilot, app, moment_of(directory, recent))
            lines = app.view.query_one(TextPager)
            assert len(lines.source) == sum(one.event.kind not in DETAIL_KINDS for one in events)
            await pilot.press("v")
            assert len(lines.source) == len(events)
            assert lines.is_following
            assert app.view.status_text == f"{len(events)} all events"


async def test_the_log_is_narrowed_by_level_role_and_task_and_goes_on_following(moment: ViewModel) -> None:
    app = Alone(LogView)
    async with app.run_test(size=(120, 30)) as pilot:
        await shown(pilot, app, moment)
        app.view.apply_filter(parse_filter("role:judge task:risky", LogView.FIELDS))
        await pilot.pause()
        assert "risky" in app.lines[1] and "judge" in app.lines[1]
        app.view.apply_filter(parse_filter("", ()))
        await pilot.press("v", "v")
        assert app.view.status_text.endswith("warnings")
        assert "it drops the TLS path" in app.text and "planned" not in app.text
        assert app.view.query_one(TextPager).is_following


async def test_a_filter_works_where_nothing_is_followed_and_leaves_it_so(moment: ViewModel) -> None:
    app = Alone(LogView)
    async with app.run_test(size=(120, 20)) as pilot:
        await shown(pilot, app, moment)
        await pilot.press("g", "down")
        lines = app.view.query_one(TextPager)
        app.view.apply_filter(parse_filter("task:risky", LogView.FIELDS))
        await pilot.pause()
        assert 0 < len(lines.source) < len(moment.recent)
        assert all("risky" in get_clean_text(lines.source.get_line(index)) for index in range(len(lines.source)))
        await pilot.press("g")
        app.view.apply_filter(parse_filter("", ()))
        await pilot.pause()
        assert (lines.is_following, lines.cursor < len(lines.source) - 1) == (False, True)


async def test_who_looks_at_an_older_event_stays_there_while_others_happen(moment: ViewModel) -> None:
    app = Alone(LogView)
    half = len(moment.recent) // 2
    async with app.run_test(size=(120, 20)) as pilot:
        await shown(pilot, app, replace(moment, seq=half, recent=list(moment.recent)[:half]))
        lines = app.view.query_one(TextPager)
        await pilot.press("g", "down", "down")
        chosen = app.view.selected_subjects
        await shown(pilot, app, moment)
        assert app.view.selected_subjects == chosen
        assert len(lines.source) > half // 2
        await pilot.press("v")
        assert app.view.selected_subjects == chosen


async def test_a_log_begins_anew_with_a_journal_that_is_shorter_than_before(moment: ViewModel) -> None:
    app = Alone(LogView)
    async with app.run_test(size=(120, 20)) as pilot:
        await shown(pilot, app, moment)
        await pilot.press("v")
        await shown(pilot, app, replace(moment, seq=9, recent=list(moment.recent)[:9]))
        assert len(app.view.query_one(TextPager).source) == 9


async def test_a_view_lives_before_its_run_has_begun() -> None:
    for make in VIEWS:
        app = Alone(make)
        async with app.run_test(size=(80, 24)) as pilot:
            await shown(pilot, app, moment_told(RunState(), DAY))
            await pilot.press("v", "t", "enter", "space")
            assert app.view.status_text is not None
