"""The list of all runs: it is there at once for five hundred, follows them, and opens one."""

import shutil
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event

import pytest
from textual.events import Unmount
from textual.message import Message

from orchestrator.discovery.all_runs import RunListReader
from orchestrator.domain.ids import RunId
from orchestrator.journal.locations.run_directory import StateDirectory
from orchestrator.report.cost.model import ShortAmount
from orchestrator.report.runs.model import AskedQuestion, RunEntry, RunSummary
from orchestrator.tui.first_frame import render_first_frame
from orchestrator.tui.run_list import RunList
from orchestrator.tui.widgets.table import Table
from tests.golden import DATA
from tests.tui.watching import SIZES, screen, until
from tests.unit.journal.test_golden_journals import restore

BEGUN = datetime(2026, 1, 1, tzinfo=UTC)


def build_entry(number: int, *, asks: bool = False) -> RunEntry:
    """A run that has ended, or that asks something."""
    run, word = RunId(f"20260101-{number:06}-{number:04x}"), "asks you" if asks else "done"
    summary = RunSummary(
        run=run,
        mode="goal",
        goal=f"goal {number}",
        repository=f"/src/shop{number % 20}",
        pr_branch="b",
        started_at=BEGUN + timedelta(seconds=number),
        last_at=BEGUN,
        outcome="paused" if asks else "done",
        word=word,
        cost=ShortAmount(usd=1.0, usd_known=1.0, tokens=1, calls=1),
        done=1,
        total=2,
        questions=(AskedQuestion(id="q1", title="may it land?"),) if asks else (),
        questions_open=int(asks),
    )
    return RunEntry(run=run, place=f"/state/{run}", is_live=False, word=word, summary=summary)


@pytest.mark.parametrize("size", SIZES)
async def test_five_hundred_runs_are_listed_and_enter_opens_the_chosen_one(size: tuple[int, int]) -> None:
    entries = [build_entry(number, asks=number == 7) for number in range(499, -1, -1)]
    app = RunList(lambda: entries)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: "500 runs, 1 ask you" in "\n".join(screen(app)))
        await until(pilot, lambda: "> 20260101-000499" in "\n".join(screen(app)).replace(">  ", "> "))
        await pilot.press("w")
        await until(pilot, lambda: len(app.query_one(Table).rows) == 1)
        await pilot.press("enter")
    assert app.return_value == entries[-8]


@pytest.mark.parametrize("size", [(120, 30), (60, 12)])
async def test_the_frame_before_the_list_says_what_the_list_does_at_the_same_places(size: tuple[int, int]) -> None:
    entries = [build_entry(number) for number in range(40, 0, -1)]
    for place, goal in enumerate(("日本語の長い目標" * 20, "e\u0301te" * 60, "a [bold]goal[/] with marks")):
        summary = entries[place].summary
        assert summary is not None
        entries[place] = entries[place].model_copy(update={"summary": summary.model_copy(update={"goal": goal})})
    app = RunList(lambda: entries, first=entries, total=40)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: "goal 35" in "\n".join(screen(app)) or size[0] == 60)
        shown = screen(app)
    frame = render_first_frame(entries, 40, size)
    bar = " ▁▂▃▄▅▆▇█"
    assert frame[1:] == [line.replace(">", " ", 1).rstrip(bar) for line in shown[1 : len(frame)]]
    assert frame[0].startswith("Runs  40 runs")


async def test_the_first_runs_are_shown_while_the_others_are_read() -> None:
    entries, may_go_on = [build_entry(number) for number in range(9, 0, -1)], Event()

    def read() -> Sequence[RunEntry]:
        may_go_on.wait(10)
        return entries

    app = RunList(read, first=entries[:3], total=9)
    async with app.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: "goal 7" in "\n".join(screen(app)))
        assert "9 runs, reading" in screen(app)[0]
        assert "goal 6" not in "\n".join(screen(app))
        may_go_on.set()
        await until(pilot, lambda: "9 runs, 0 ask you" in screen(app)[0])
        assert "goal 1" in "\n".join(screen(app))


async def test_the_list_follows_what_is_read_and_leaving_opens_nothing() -> None:
    entries: list[RunEntry] = []

    def read() -> Sequence[RunEntry]:
        return list(entries)

    app = RunList(read)
    async with app.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: "no run is known" in "\n".join(screen(app)))
        entries.append(build_entry(1))
        await until(pilot, lambda: "goal 1" in "\n".join(screen(app)))
        await pilot.press("q")
    assert app.return_value is None


async def test_runs_that_are_read_while_the_list_closes_are_not_shown() -> None:
    may_go_on, was_read = Event(), Event()

    def read() -> Sequence[RunEntry]:
        may_go_on.wait(10)
        was_read.set()
        return [build_entry(1)]

    def finish_reading(message: Message) -> None:
        if isinstance(message, Unmount) and not was_read.is_set():
            may_go_on.set()
            was_read.wait(10)

    app = RunList(read)
    async with app.run_test(message_hook=finish_reading):
        assert not was_read.is_set()
    assert was_read.is_set()


def test_a_run_is_read_again_only_when_its_journal_has_changed(tmp_path: Path) -> None:
    lines = sorted((DATA / "journals").glob("*.jsonl"))[-1]
    place = tmp_path / "shop-00000000" / "runs" / "20260101-000000-0000"
    place.mkdir(parents=True)
    restore(lines, place / "journal.db")
    reader = RunListReader(lambda: StateDirectory.list_all(str(tmp_path)))
    assert reader.read_first_entries(5)[1] == 1
    first = reader.read_entries()
    assert reader.read_entries()[0] is first[0]
    (place / "journal.db").touch()
    assert reader.read_entries()[0] is not first[0]
    shutil.rmtree(place)
    assert reader.read_entries() == []
