"""One thing whole: a worker's conversation, change and tests from a real run; long and hostile conversations."""

from pathlib import Path

import anyio
import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from orchestrator.domain.event.work import ToolCalled, ToolReturned
from orchestrator.domain.ids import SessionId, TaskId
from orchestrator.domain.text.blob_text import Text
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.journal.storage.blobs import BlobStore
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.report.rows.row_filter import RowFilter
from orchestrator.tui.actions import DashboardActions
from orchestrator.tui.app import Dashboard
from orchestrator.tui.panes.diff import CommentSubmitted, DiffPane
from orchestrator.tui.panes.transcript import TranscriptPane
from orchestrator.tui.run_feed.conversation_reader import build_blob_reader
from orchestrator.tui.view_model import Connection
from orchestrator.tui.views.base_view import DashboardView, Subject
from orchestrator.tui.views.worker import WorkerView
from orchestrator.tui.widgets.text_pager import TextPager
from tests.running.goals import Bench
from tests.running.journals import LINES_AT_ONCE, LONGEST, fleet_journal, write
from tests.running.migrating import Migrated, recipe, words
from tests.running.projects import calculator
from tests.running.scripts import judges, planner_ends, plans, reviews, uses, worker_ends, writes
from tests.tui.sources import render_transcript_lines
from tests.tui.watching import NOWHERE, SIZES, Shown, dashboard, screen, until


def text(app: Dashboard) -> str:
    return "\n".join(screen(app))


async def opened(app: Dashboard, pilot: Pilot[None], subject: Subject) -> WorkerView:
    """The view of one thing, opened as from another view."""
    await until(pilot, lambda: app.view_stack.current_view is not None)
    assert app.view_stack.current_view is not None
    app.view_stack.current_view.post_message(DashboardView.OpenRequested(subject))
    await until(
        pilot,
        lambda: isinstance(app.view_stack.current_view, WorkerView) and app.view_stack.current_view.pane.is_attached,
    )
    assert isinstance(app.view_stack.current_view, WorkerView)
    return app.view_stack.current_view


@pytest.fixture(scope="module")
def goal(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    """A run whose worker wrote two files in two attempts, which then landed."""
    root = tmp_path_factory.mktemp("goal")
    bench = Bench(root, calculator(root / "repo"))
    items = [
        plans("root", {"key": "a", "acceptance": ["it says one"]}),
        writes("a", "one.txt", "one\ntwo\n"),
        worker_ends("a", "wrote a file"),
        reviews("a", "revise", "it needs a third line", points=1),
        uses("worker", "a", "shell", command="echo three >> one.txt; echo new > new.txt"),
        worker_ends("a", "wrote another one"),
        reviews("a", points=1),
        planner_ends(),
        judges(),
    ]
    ended = anyio.run(lambda: bench.run(*items))
    assert ended.exit_code == 0, ended.state.tasks
    return ended.directory


@pytest.mark.sandbox
async def test_a_worker_is_shown_from_every_side(goal: RunDirectory) -> None:
    app = dashboard(Shown(goal, Connection.ENDED))
    async with app.run_test(size=(160, 48)) as pilot:
        view = await opened(app, pilot, Subject("task", "a"))
        await until(pilot, lambda: "say" in text(app) or "tool" in text(app))
        assert "attempt 2" in screen(app)[3]
        assert "done" in screen(app)[3]
        await pilot.press("d")
        await until(pilot, lambda: "+ three" in text(app))
        assert "against task base" in screen(app)[4]
        await pilot.press("e")
        await until(pilot, lambda: "green  before 2 passed 0 failed, now 2 passed 0 failed" in text(app))
        await pilot.press("i")
        await until(pilot, lambda: "verdict: revise" in text(app))
        assert "it needs a third line" in text(app)
        assert "it says one" in text(app)
        await pilot.press("f")
        await until(pilot, lambda: "new.txt" in text(app))
        await pilot.press("j", "enter")
        await until(pilot, lambda: view.pane.id == "pane-d")


class Hearing(Dashboard):
    """A dashboard that notes what is said of lines."""

    def __init__(self, source: Shown, doors: DashboardActions) -> None:
        super().__init__(source, doors)
        self.said: list[tuple[str, int, str]] = []

    def on_comment_submitted(self, event: CommentSubmitted) -> None:
        """Somebody said something."""
        self.said.append((event.path, event.line, event.text))


@pytest.mark.sandbox
async def test_a_change_is_walked_through_compared_and_commented(goal: RunDirectory) -> None:
    app = Hearing(Shown(goal, Connection.ENDED), NOWHERE)
    said = app.said
    async with app.run_test(size=(160, 48)) as pilot:
        view = await opened(app, pilot, Subject("unit", "a@2"))
        await pilot.press("d")
        pane = view.query_one(DiffPane)
        await until(pilot, lambda: len(pane.files) == 2)
        await pilot.press("right_curly_bracket")
        assert pane.pager.cursor > 0
        await pilot.press("right_square_bracket", "j", "c")
        await until(pilot, lambda: pane.query_one(Input).has_focus)
        await pilot.press(*"why?")
        await until(pilot, lambda: "why?" in text(app))
        await pilot.press("enter")
        await until(pilot, lambda: said)
        assert said == [("one.txt", 1, "why?")]
        await until(pilot, lambda: "● why?" in text(app))
        assert "●+" in next(line for line in screen(app) if "●" in line).replace(" ", "")
        await pilot.press("vertical_line")
        await until(pilot, lambda: " | " in text(app))
        await pilot.press("B", "B")
        await until(pilot, lambda: "previous attempt  +2/-0 (2 files)" in screen(app)[4])
        await pilot.press("right_square_bracket", "j", "c", *"no", "escape")
        await until(pilot, lambda: pane.pager.has_focus)
    assert len(said) == 1


@pytest.mark.sandbox
async def test_all_that_was_said_is_printed_once(goal: RunDirectory) -> None:
    app = dashboard(Shown(goal, Connection.ENDED))
    async with app.run_test(size=(80, 24)) as pilot:
        view = await opened(app, pilot, Subject("session", "work:a@2"))
        pane = view.query_one(TranscriptPane)
        await until(pilot, lambda: pane.get_all_lines() is not None)
        source = view.find_stream_lines()
        assert source is not None
        printed = [source.get_line(index) for index in range(len(source))]
    events = [one for one in read_all_events(goal.journal) if getattr(one.event, "session", "") == "work:a@2"]
    assert printed == list(render_transcript_lines(events, build_blob_reader(goal)))


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    return fleet_journal(tmp_path_factory.mktemp("long") / "run", 3, 100_000, asking=1)


@pytest.mark.parametrize("size", SIZES)
async def test_each_pane_fits_the_screen(long: RunDirectory, size: tuple[int, int]) -> None:
    app = dashboard(Shown(long))
    async with app.run_test(size=size) as pilot:
        view = await opened(app, pilot, Subject("session", LONGEST))
        await until(pilot, lambda: any(line.strip("│").startswith("#") for line in screen(app)))
        for key, word in {
            "d": "does not exist",
            "e": "no check ran",
            "i": "it is ported",
            "f": "No file",
            "t": "#",
        }.items():
            await pilot.press(key)
            await until(pilot, lambda key=key, word=word: view.pane.id == f"pane-{key}" and word in text(app))
            head, tabs = screen(app)[2:4] if size[1] < 20 else screen(app)[3:5]
            assert "w01" in head
            assert f" {key} " in tabs
            assert "detach" in screen(app)[-1]
            assert view.pane.region.bottom == view.region.bottom - (size[1] >= 20), "its last line is seen"


async def test_a_hundred_thousand_lines_are_opened_searched_and_walked_through(long: RunDirectory) -> None:
    app = dashboard(Shown(long))
    async with app.run_test(size=(120, 30)) as pilot:
        view = await opened(app, pilot, Subject("session", LONGEST))
        pane = view.query_one(TranscriptPane)
        await until(pilot, lambda: pane.transcript is not None and len(pane.transcript) > 100)
        assert pane.transcript is not None
        closed = len(pane.transcript)
        view.apply_filter(RowFilter("line 77777:"))
        await until(pilot, lambda: pane.pager.search_position is not None)
        assert pane.pager.search_position is not None
        assert pane.pager.search_position.total == 1
        assert pane.transcript.get_line(pane.pager.cursor).strip().startswith("line 77777: ")
        assert LINES_AT_ONCE < len(pane.transcript) < 2 * LINES_AT_ONCE
        view.apply_filter(RowFilter())
        await until(pilot, lambda: len(pane.transcript or ()) == closed)
        await pilot.press("E")
        await until(pilot, lambda: len(pane.transcript or ()) > 100_000)
        await pilot.press("g")
        assert pane.pager.cursor == 0
        await pilot.press("G")
        assert pane.pager.cursor == len(pane.transcript) - 1


async def test_what_is_said_while_one_looks_is_shown(tmp_path: Path) -> None:
    directory = fleet_journal(tmp_path / "run", 2, 0, asking=0)
    source = Shown(directory)
    app = dashboard(source)
    async with app.run_test(size=(100, 30)) as pilot:
        await opened(app, pilot, Subject("session", LONGEST))
        await until(pilot, lambda: "FOLLOW" in text(app))
        write(directory.path, hostile(BlobStore(directory.blobs)))
        source.read_on()
        await until(pilot, lambda: "look [bold]here" in text(app))
        await pilot.press("enter")
        await until(pilot, lambda: "secret" in text(app))
        for escape in ("\x1b", "\x07", "\u202e", "\x9b"):
            assert escape not in text(app)
        assert "[bold]" in text(app)
        assert app.clipboard == ""


def hostile(blobs: BlobStore) -> list[ToolCalled | ToolReturned]:
    """A tool that returns everything that a terminal could be made to do, and a line of a megabyte."""
    dangerous = "\x1b[31mred\x1b]52;c;c2VjcmV0\x07 secret [bold]x[/bold] \u202egnp.exe\u202c 👩‍👩‍👧 \x9b2J\n"
    observation = dangerous + "x" * 1_000_000
    shared = {"task": TaskId("task-000"), "session": SessionId(LONGEST), "key": "tool/hostile~0", "turn": 9}
    returned = Text(head=observation[:4_000], size=len(observation), sha=blobs.write_blob(observation.encode()))
    command = '{"command": "look [bold]here\\u001b[2J"}'
    return [
        ToolCalled(**shared, name="shell", arguments=Text.build_inline(command)),
        ToolReturned(**shared, call_id="c", name="shell", ok=True, observation=returned, seconds=1.0),
    ]


@pytest.mark.extended
@pytest.mark.sandbox
@pytest.mark.timeout(600)
async def test_a_migrated_file_is_shown_with_its_rungs_and_why_it_failed(tmp_path: Path) -> None:
    root = words(tmp_path / "repo", {"one/good.txt": "old", "one/bad.txt": "old bet"})
    ended = await Migrated(root).run(recipe({"run": "sed -i 's/old/new/;s/bet/odd/' {files}"}))
    app = dashboard(Shown(ended.directory, Connection.ENDED))
    async with app.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: "fail" in text(app))
        await opened(app, pilot, Subject("file", "one/bad.txt"))
        await until(pilot, lambda: "step-0" in text(app))
        await until(pilot, lambda: "f Record" in screen(app)[4])
        await until(pilot, lambda: any("reason: " in line for line in screen(app)))  # why it failed is in sight
        await until(pilot, lambda: isinstance(app.focused, TextPager))  # it scrolls without a key to get there
        await pilot.press("e")
        await until(pilot, lambda: "red  " in text(app))
        await pilot.press("d")
        await until(pilot, lambda: "against base" in text(app))
        await until(pilot, lambda: "- old" in text(app))
