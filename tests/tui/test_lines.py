"""Long texts of the dashboard, in an app of their own."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest
from textual import on
from textual.app import App, ComposeResult
from textual.events import MouseScrollUp

from orchestrator.tui.terminal.clipboard import copy_text
from orchestrator.tui.widgets.styled_text import Cell
from orchestrator.tui.widgets.text_pager import LineList, TextPager

EVIL = [
    "\x1b]52;c;ZXZpbA==\x07clipboard",
    "\x1b[2J\x1b[31mred\x1b[0m \x9b31m [bold]not markup[/bold] [link=x]",
    "שלום עולם \u202etxt.exe",
    "🎉🎉👩‍👩‍👧 ❤️ 漢字 e\u0301",
    "a\tb\rc\x00d\ud800e\nf",
    "x" * 1_000_000,
]


class Shown(App[None]):
    def __init__(self, lines: Sequence[Cell], *, follow: bool = False, wrap: bool = False) -> None:
        super().__init__()
        self.source = LineList(list(lines))
        self.how = {"follow": follow, "wrap": wrap}
        self.heard: list[object] = []

    def compose(self) -> ComposeResult:
        yield TextPager(self.source, empty="nothing was said yet", **self.how)

    @property
    def text(self) -> TextPager:
        return self.query_one(TextPager)

    @property
    def seen(self) -> list[str]:
        return [self.text.render_line(y).text.rstrip() for y in range(self.text.size.height)]

    def add(self, *lines: Cell) -> None:
        self.source.lines.extend(lines)  # type: ignore[attr-defined]
        self.text.update_length()

    @on(TextPager.SearchFinished)
    def hear_found(self, message: TextPager.SearchFinished) -> None:
        self.heard.append(tuple(message.at))

    @on(TextPager.LineOpened)
    def hear_opened(self, message: TextPager.LineOpened) -> None:
        self.heard.append(message.index)


def copies(directory: Path) -> set[str]:
    return {path.read_text() for path in directory.glob("orchestrate-copied-*")}


def numbered(count: int) -> list[Cell]:
    return [f"line {n}" for n in range(count)]


async def test_a_hundred_thousand_lines_are_gone_through_by_keys_and_only_those_in_sight_are_made() -> None:
    made: list[int] = []

    class Counted(LineList):
        def get_line(self, index: int) -> Cell:
            made.append(index)
            return super().get_line(index)

    app = Shown([])
    async with app.run_test(size=(40, 10)) as pilot:
        app.text.show_text(Counted(numbered(100_000)))
        await pilot.pause()
        assert app.seen[0] == "line 0"
        await pilot.press("G")
        assert app.seen[-1] == "line 99999"
        await pilot.press("pageup", "pageup")
        assert app.text.cursor == 99_981
        await pilot.press("g", "j", "pagedown")
        assert app.text.cursor == 10
        assert len(set(made)) < 100


async def test_a_followed_text_stays_at_its_end_and_to_the_side_pauses_above_and_goes_on_at_the_end() -> None:
    app = Shown([f"line {n} {'.' * 60}" for n in range(50)], follow=True)
    async with app.run_test(size=(40, 10)) as pilot:
        await pilot.press("right", "right")
        app.add("line 50", "line 51")
        await pilot.pause()
        assert (app.text.cursor, app.text.scroll_offset.x, app.text.is_following) == (51, 16, True)
        await pilot.press("k")
        app.add("line 52")
        await pilot.pause()
        assert (app.text.cursor, app.text.is_following) == (50, False)
        await pilot.press("G")
        app.add("line 53")
        await pilot.pause()
        assert (app.text.cursor, app.text.scroll_offset.x) == (53, 16)
        await pilot._post_mouse_events([MouseScrollUp], TextPager, offset=(1, 1))
        app.add("line 54")
        await pilot.pause()
        assert app.text.cursor == 53
        await pilot.press("F")
        assert (app.text.cursor, app.text.is_following) == (54, True)


@pytest.mark.parametrize("wrap", [False, True])
async def test_what_strangers_wrote_is_inert(wrap: bool) -> None:
    app = Shown(EVIL, wrap=wrap)
    async with app.run_test(size=(40, 20)) as pilot:
        await pilot.pause()
        assert all(line.isprintable() for line in app.seen)
        assert all(app.text.render_line(y).cell_length == app.text.page_size.width for y in range(20))
        shown = "\n".join(app.seen)
        assert "red" in shown
        assert "[bold]not markup[/bold]" in shown
        assert app.clipboard == ""
        await pilot.press("G", "end")
        app.text.scroll_to(x=10_000, animate=False)
        await pilot.pause()
        assert max(app.text.render_line(y).cell_length for y in range(20)) == app.text.page_size.width
        assert app.text.virtual_size.width < 2_100


async def test_long_lines_are_folded_and_the_last_one_can_be_reached() -> None:
    app = Shown([*numbered(30), "y" * 100 + "漢" * 30 + "end"], wrap=True)
    async with app.run_test(size=(40, 10)) as pilot:
        await pilot.press("G")
        await pilot.pause()
        assert app.seen[-1].endswith("end")
        assert app.seen[4] == "line 29"
        await pilot.press("W")
        await pilot.pause()
        assert app.seen[-2:] == ["line 29", "y" * 39]
        await pilot.press("W", "k", "k", "g")
        assert app.seen[0] == "line 0"


async def test_words_are_found_forwards_and_backwards_around_the_end_and_counted() -> None:
    lines = [f"line {n}" + (" with a Needle [x" if n % 30_000 == 5 else "") for n in range(100_000)]
    app = Shown(lines)
    async with app.run_test(size=(40, 10)) as pilot:
        await pilot.press("n")
        assert app.text.cursor == 0
        app.text.find_text("needle [X".lower())
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert app.text.cursor == 5
        assert app.heard == [("needle [x", 5, 1, 4)]
        for key, line in (("n", 30_005), ("N", 5), ("N", 90_005), ("n", 5)):
            await pilot.press(key)
            await app.workers.wait_for_complete()
            assert app.text.cursor == line
        app.add("one more needle [x")
        await pilot.press("N")
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert app.heard[-1] == ("needle [x", 100_000, 5, 5)
        app.text.find_text("NEEDLE")
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert app.heard[-1] == ("NEEDLE", None, 0, 0)


async def test_the_screen_lives_while_a_long_text_is_searched() -> None:
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            await anyio.lowlevel.checkpoint()
            turns += 1

    app = Shown([f"line {n} {'ä' * 300}" for n in range(60_000)])
    async with app.run_test(size=(40, 10)), anyio.create_task_group() as tasks:
        tasks.start_soon(count)
        app.text.find_text("nothing of the kind")
        before = turns
        await app.workers.wait_for_complete()
        tasks.cancel_scope.cancel()
    assert turns - before > 5


async def test_only_what_was_selected_is_copied_clean_to_the_terminal_and_to_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    app = Shown(["first", ("│ \x1b[31msecond\x07", "bold"), [("th", ""), ("ird", "red")], "fourth"])
    async with app.run_test(size=(40, 10)) as pilot:
        await pilot.press("j", "V", "j", "y")
        await pilot.pause()
        assert app.clipboard == "│ second\nthird"
        assert copies(tmp_path) == {"│ second\nthird\n"}
        await pilot.mouse_down(TextPager, offset=(2, 0))
        await pilot.hover(TextPager, offset=(2, 1))
        await pilot.mouse_up(TextPager, offset=(2, 1))
        assert app.text.selected_lines == range(2)
        await pilot.press("escape")
        assert app.text.selected_lines == range(1, 2)


async def test_lines_that_were_altered_are_drawn_anew_and_searched_anew() -> None:
    app = Shown(numbered(20))
    async with app.run_test(size=(40, 10)) as pilot:
        app.text.find_text("needle")
        await app.workers.wait_for_complete()
        app.source.lines = [*numbered(3), ("a needle", "bold"), *numbered(2)]
        app.text.invalidate_lines(3)
        await pilot.press("n")
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert app.text.cursor == 3
        assert app.seen == ["line 0", "line 1", "line 2", "a needle", "line 0", "line 1", "", "", "", ""]
        await pilot.press("enter")
        await pilot.click(TextPager, offset=(1, 1), times=2)
        assert app.heard[-2:] == [3, 1]


async def test_an_empty_text_says_so_and_keys_do_nothing() -> None:
    app = Shown([], follow=True)
    async with app.run_test(size=(40, 10)) as pilot:
        await pilot.press("j", "k", "G", "g", "V", "y", "enter", "F", "W", "right")
        assert app.seen[0] == "nothing was said yet"
        assert (app.text.cursor, app.heard, app.clipboard) == (0, [], "")


async def test_nothing_that_is_copied_acts_on_what_it_is_pasted_into(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    app = Shown([])
    async with app.run_test():
        told = copy_text(app, "\x1b[201~rm -r /\r\n\tsecond\u202e\ud800")
        assert told.startswith("2 lines copied")
        assert app.clipboard == "[201~rm -r /\n\tsecond"
