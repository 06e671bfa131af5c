"""The table of the dashboard, in an app of its own."""

from collections.abc import Sequence

import pytest
from textual import on
from textual.app import App, ComposeResult
from textual.events import MouseScrollDown

from orchestrator.tui.widgets.table import Column, Row, Table

COLUMNS = [
    Column("id", "ID", 4),
    Column("state", "STATE", 7),
    Column("task", "TASK", 10, grows=True),
    Column("model", "MODEL", 12, priority=3),
    Column("usd", "$", 6, priority=1, to_the_right=True),
]


def rows(count: int, **changed: str) -> list[Row]:
    return [
        Row(f"w{n:03}", {"id": f"w{n:03}", "state": changed.get(f"w{n:03}", "run"), "task": f"task {n}", "usd": "0.10"})
        for n in range(count)
    ]


class Shown(App[None]):
    def __init__(self, first: Sequence[Row]) -> None:
        super().__init__()
        self.first = first
        self.heard: list[str] = []

    def compose(self) -> ComposeResult:
        yield Table(COLUMNS, empty="nobody is at work")

    def on_mount(self) -> None:
        self.table.show_rows(self.first)
        self.table.focus()

    @property
    def table(self) -> Table:
        return self.query_one(Table)

    @on(Table.RowHighlighted)
    @on(Table.RowOpened)
    def hear(self, message: Table.RowHighlighted) -> None:
        self.heard.append(f"{type(message).__name__} {message.key}")

    @on(Table.HeaderClicked)
    def hear_title(self, message: Table.HeaderClicked) -> None:
        self.heard.append(f"Headed {message.column}")

    @property
    def lines(self) -> list[str]:
        return [self.table.render_line(y).text.rstrip() for y in range(self.table.size.height)]


async def test_cursor_and_marks_stay_with_their_rows_when_rows_are_sorted_anew_and_go() -> None:
    app = Shown(rows(9))
    async with app.run_test(size=(60, 8)) as pilot:
        await pilot.press("j", "space", "j")
        assert (app.table.cursor, app.table.marked_keys, app.table.selected_keys) == ("w003", ["w001"], ["w001"])
        app.table.show_rows(list(reversed(rows(9))))
        await pilot.pause()
        assert (app.table.cursor, app.table.marked_keys) == ("w003", ["w001"])
        assert any(line.startswith("> w003") for line in app.lines)
        app.table.show_rows([row for row in reversed(rows(9)) if row.key not in {"w003", "w001"}])
        await pilot.pause()
        assert (app.table.cursor, app.table.marked_keys, app.table.selected_keys) == ("w002", [], ["w002"])


async def test_what_rows_say_is_told_once_when_the_cursor_moves_and_when_a_row_is_opened() -> None:
    app = Shown(rows(9))
    async with app.run_test(size=(60, 8)) as pilot:
        await pilot.press("down", "enter")
        app.table.show_rows(rows(9))
        await pilot.pause()
        assert app.heard == ["RowHighlighted w000", "RowHighlighted w001", "RowOpened w001"]


async def test_the_mouse_chooses_opens_marks_and_scrolls_what_is_under_it_without_focus() -> None:
    app = Shown(rows(50))
    async with app.run_test(size=(60, 8)) as pilot:
        app.set_focus(None)
        await pilot.click(Table, offset=(4, 3))
        assert app.table.cursor == "w002"
        await pilot.click(Table, offset=(4, 2), times=2)
        await pilot.click(Table, offset=(4, 4), control=True)
        await pilot.click(Table, offset=(10, 0))
        assert app.table.marked_keys == ["w003"]
        assert app.heard[-3:] == ["RowOpened w001", "RowHighlighted w003", "Headed state"]
        app.set_focus(None)
        await pilot._post_mouse_events([MouseScrollDown], Table, offset=(4, 3))
        await pilot.pause()
        assert app.table.scroll_offset.y > 0
        assert app.table.cursor == "w003"


@pytest.mark.parametrize(
    ("width", "shown"), [(80, "id state task model usd"), (40, "id state task usd"), (24, "id state task")]
)
async def test_the_least_important_columns_go_first_where_it_is_narrow(width: int, shown: str) -> None:
    app = Shown(rows(3))
    async with app.run_test(size=(width, 8)) as pilot:
        assert [column.key for column in app.table.columns] == shown.split()
        await pilot.resize_terminal(120, 8)
        await pilot.pause()
        assert len(app.table.columns) == 5
        assert all(len(line) <= 120 for line in app.lines)


async def test_only_cells_that_differ_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    app = Shown(rows(1000))
    async with app.run_test(size=(80, 12)) as pilot:
        await pilot.pause()
        drawn: list[object] = []
        refresh = app.table.refresh
        monkeypatch.setattr(
            app.table, "refresh", lambda *regions, **how: (drawn.extend(regions), refresh(*regions, **how))
        )
        app.table.show_rows(rows(1000, w004="ask", w900="ask"))
        app.table.show_rows(rows(1000, w004="ask", w900="ask"))
        await pilot.pause()
        assert [tuple(region) for region in drawn] == [(8, 5, 7, 1)]  # type: ignore[call-overload]
        assert "ask" in app.lines[5]


async def test_cells_of_strangers_are_inert_and_cut_to_their_column() -> None:
    evil = "\x1b]52;c;aGk=\x07[bold]\x1b[31mred\n\u202e漢字漢字漢字漢字漢字漢字漢字漢字"
    app = Shown([Row("a", {"id": "a", "task": (evil, "bold"), "model": [("x\ty", "red"), ("🎉" * 20, "")]})])
    async with app.run_test(size=(60, 8)) as pilot:
        await pilot.pause()
        line = app.lines[1]
        assert line.isprintable()
        assert "[bold]" in line
        assert app.table.render_line(1).cell_length == app.table.page_size.width


async def test_an_empty_table_says_so_and_keys_do_nothing() -> None:
    app = Shown([])
    async with app.run_test(size=(60, 8)) as pilot:
        await pilot.press("j", "k", "space", "enter", "G", "pagedown")
        assert "nobody is at work" in app.lines[1]
        assert (app.table.cursor, app.table.selected_keys, app.heard) == (None, [], [])


async def test_a_table_that_was_scrolled_away_from_its_cursor_stays_where_it_is_while_rows_change() -> None:
    app = Shown(rows(500))
    async with app.run_test(size=(60, 12)) as pilot:
        app.table.scroll_to(y=200, animate=False)
        app.table.show_rows(rows(501, w205="ask"))
        await pilot.pause()
        assert app.table.scroll_offset.y == 200
        app.table.show_rows(rows(20))
        await pilot.pause()
        assert app.table.scroll_offset.y == app.table.max_scroll_y
        await pilot.press("G")
        assert app.lines[-1].startswith("> w019")
