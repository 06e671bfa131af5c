"""The cursor of every text and table can be seen, measured on what is drawn."""

from pathlib import Path

import pytest
from rich.segment import Segment

from orchestrator.tui.app import Dashboard
from orchestrator.tui.panes.diff import DiffPane
from orchestrator.tui.theme import COLOUR_SCHEMES
from orchestrator.tui.views.base_view import DashboardView
from orchestrator.tui.widgets.scroll_area import ScrollArea
from orchestrator.tui.widgets.table import Table
from orchestrator.tui.widgets.text_pager import LineList, TextPager
from tests.golden import DATA
from tests.tui.asking import LANDING, LATER, Asking
from tests.tui.contrast import MIN_CONTRAST, compute_contrast
from tests.tui.sources import IN_THE_MIDDLE, Still, dashboard, kept, strips
from tests.unit.journal.test_golden_journals import restore

MIN_CURSOR_CONTRAST = 3.0
"""The least between a cursor and what is around it (WCAG 1.4.11)."""
PLACES = {
    "fleet": ("1",), "plan": ("2",), "log": ("6", "home"), "transcript": ("1", "enter", "home"),
    "diff": ("1", "enter", "d"),
    "tests": ("1", "enter", "e"), "question": ("4", "enter"),
}  # fmt: skip
ASKED = {"question", "transcript", "diff", "tests"}
KINDS = {"fleet": Table, "plan": Table}
CHANGE = LineList(
    [(" 10    - gone", "removed"), ("    10 + came", "added"), (" 11 11   same", ""), (" 12 12   more", "dim")]
)


async def put_in_front(app: Dashboard, name: str) -> ScrollArea:
    """The text or table that has the cursor."""
    view = app.view_stack.current_view
    assert view is not None
    if name == "diff":  # a recorded run has no repository to read a change from
        view.query_one(DiffPane).pager.show_text(CHANGE, at_end=False)
    area = app.focused
    assert isinstance(area, KINDS.get(name, TextPager)), area
    return area


def find_cursor_line(area: ScrollArea) -> int:
    """The line of the screen with the cursor."""
    if isinstance(area, Table):
        index = next(index for index, row in enumerate(area.rows) if row.key == area.cursor)
        return area.content_region.y + 1 + index - area.scroll_offset.y
    assert isinstance(area, TextPager)
    lines = [area.find_line_at(y) for y in range(area.size.height)]
    return lines.index(area.cursor) + area.content_region.y


def list_colours(app: Dashboard, area: ScrollArea, y: int) -> list[tuple[str, str, str]]:
    """The words, ink and paper of each piece of a line, within a text or table."""
    line = strips(app)[y].crop(area.content_region.x, area.content_region.right - 1)
    return [(segment.text, *_get_colours(segment)) for segment in line if segment.text]


def _get_colours(segment: Segment) -> tuple[str, str]:
    style = segment.style
    assert style is not None and style.color is not None and style.bgcolor is not None, segment
    return style.color.get_truecolor().hex, style.bgcolor.get_truecolor().hex


@pytest.mark.parametrize("colours", [*COLOUR_SCHEMES, "NO_COLOR"])
@pytest.mark.parametrize("name", PLACES)
async def test_the_cursor_stands_out_and_what_is_on_it_can_be_read(
    name: str, colours: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if colours == "NO_COLOR":
        monkeypatch.setenv("NO_COLOR", "1")
    restore(DATA / "journals" / "goal.v2.jsonl", tmp_path / "journal.db")
    source = Asking(LATER, LANDING) if name in ASKED else Still(kept("goal.v2"), IN_THE_MIDDLE)
    source.directory = type(source.directory)(tmp_path)
    app = dashboard(source)
    async with app.run_test(size=(120, 40)) as pilot:
        app.theme = colours if colours in COLOUR_SCHEMES else app.theme
        for key in PLACES[name]:
            await pilot.press(key)
            await pilot.pause(0.3)
        area = await put_in_front(app, name)
        await pilot.pause(0.2)
        y = find_cursor_line(area)
        pieces, around = list_colours(app, area, y), list_colours(app, area, y + 1)
    paper = {piece[2] for piece in pieces}
    assert len(paper) == 1, "the whole line is one bar"
    beside = compute_contrast(paper.pop(), around[-1][2])
    assert beside >= MIN_CURSOR_CONTRAST
    words = {text: compute_contrast(ink, on) for text, ink, on in pieces if text.strip()}
    assert words
    assert {text: ratio for text, ratio in words.items() if ratio < MIN_CONTRAST} == {}


async def test_selected_lines_stand_out_from_the_rest_and_from_the_cursor(tmp_path: Path) -> None:
    restore(DATA / "journals" / "goal.v2.jsonl", tmp_path / "journal.db")
    app = dashboard(Still(kept("goal.v2"), directory=tmp_path))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("6")
        await pilot.pause(0.3)
        await pilot.press("home", "shift+down", "shift+down")
        await pilot.pause(0.2)
        view = app.view_stack.current_view
        assert isinstance(view, DashboardView)
        area = view.query_one(TextPager)
        top = area.content_region.y
        papers = [list_colours(app, area, top + y)[0][2] for y in (0, 1, 2, 3)]
    assert papers[0] == papers[1] != papers[2]
    assert compute_contrast(papers[0], papers[3]) >= MIN_CURSOR_CONTRAST
