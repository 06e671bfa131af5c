"""The fleet's tab: it holds two hundred workers, shows who needs somebody, and is narrowed as `status --filter` is."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner

from orchestrator.cli.main import cli
from orchestrator.domain.event.people import ApprovalDecided
from orchestrator.domain.event.work import TaskEnded
from orchestrator.domain.ids import TaskId
from orchestrator.domain.run.task import TaskStatus
from orchestrator.journal.locations.run_directory import RunDirectory, StateDirectory
from orchestrator.tui.panes.transcript import TranscriptPane
from orchestrator.tui.views.fleet import FleetView
from orchestrator.tui.widgets.table import Column, Table
from orchestrator.tui.widgets.table_rows import ColumnExtent, lay_out_columns
from tests.running.journals import LONGEST, fleet_journal, write
from tests.running.projects import repository
from tests.tui.sources import Still, kept
from tests.tui.sources import dashboard as at_rest
from tests.tui.watching import SIZES, Shown, dashboard, screen, until

WORKERS = 200


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A repository and the state directory of its run."""
    root = tmp_path_factory.mktemp("fleet")
    repo = repository(root / "repo", {"a.txt": "a\n"})
    directory = StateDirectory.locate_for(repo, str(root / "state")).build_run_directory(
        datetime(2026, 1, 1, tzinfo=UTC)
    )
    fleet_journal(directory.path, WORKERS, 5_000)
    return repo, root / "state"


@pytest.fixture(scope="module")
def fleet(place: tuple[Path, Path]) -> RunDirectory:
    repo, state = place
    return StateDirectory.locate_for(repo, str(state)).find_run("latest")


@pytest.mark.parametrize("size", SIZES)
async def test_header_keys_and_the_chosen_row_are_in_sight(fleet: RunDirectory, size: tuple[int, int]) -> None:
    app = dashboard(Shown(fleet))
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: "> w199" in "\n".join(screen(app)))
        await pilot.press("G")
        await until(pilot, lambda: not any("> w199" in line for line in screen(app)))
        await pilot.resize_terminal(100, 20)
        await until(
            pilot, lambda: len(screen(app)) == 20 and any(line.strip("│").startswith(">") for line in screen(app))
        )
        await until(pilot, lambda: "1 Fleet" in screen(app)[1] and "q detach" in screen(app)[-1])
        assert len(screen(app)) == 20


async def test_a_filter_shows_what_status_shows(fleet: RunDirectory, place: tuple[Path, Path]) -> None:
    app = dashboard(Shown(fleet))
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.press("slash", *"state:ask", "enter")
        view = app.query_one(FleetView)
        await until(pilot, lambda: view.status_text == f"2 of {WORKERS + 1}")
        assert "filter: state:ask  [2 of 201]" in screen(app)[1]
        shown = [subject.id for subject in view.selected_subjects] + [row.key for row in view.query_one(Table).rows]
        await pilot.press("escape")
        await until(pilot, lambda: view.status_text == f"{WORKERS + 1} of {WORKERS + 1}")
        await pilot.press("slash", "enter")
        await until(pilot, lambda: view.status_text == f"2 of {WORKERS + 1}")
    repo, state = place
    words = ["status", "--repo", str(repo), "--state", str(state), "--filter", "state:ask", "--json"]
    told = json.loads(CliRunner().invoke(cli, words).output)
    assert [f"{row['kind']}:{row['key']}" for row in told["fleet"]] == shown[1:]
    assert (len(told["fleet"]), told["fleet_of"]) == (2, WORKERS + 1)


async def test_the_preview_goes_along_with_the_cursor(fleet: RunDirectory) -> None:
    app = dashboard(Shown(fleet))
    async with app.run_test(size=(160, 48)) as pilot:
        await until(pilot, lambda: app.query(FleetView) and "tier: let commands" in "\n".join(screen(app)))
        app.query_one(Table).move_to(f"session:{LONGEST}")
        await until(pilot, lambda: app.query_one(TranscriptPane).transcript)
        await until(pilot, lambda: " w01 task-000" in "\n".join(screen(app)))
        await until(pilot, lambda: any(line.strip("│").startswith("#") for line in screen(app)))
        await pilot.press("v")
        await until(pilot, lambda: not any(line.strip("│").startswith("#") for line in screen(app)))


async def test_the_last_line_says_what_helps_the_row_with_the_cursor(fleet: RunDirectory) -> None:
    app = dashboard(Shown(fleet))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "? ask" in screen(app)[5])
        assert "a approve  d reject" in screen(app)[-1]
        app.query_one(Table).move_to("session:task-005@1/worker")
        await until(pilot, lambda: "approve" not in screen(app)[-1])


async def test_a_migration_without_models_has_columns_for_files_and_begins_at_what_matters() -> None:
    source = Still(kept("migration.v1"))
    app = at_rest(source)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "✗ fail" in screen(app)[5])
        assert screen(app)[4].strip("│").split() == ["STATE", "KIND", "WHAT", "LAST"]
        assert "r retry" in screen(app)[-1]
        assert screen(app)[5].startswith("│>")


async def test_what_is_done_is_counted_until_it_is_asked_for(tmp_path: Path) -> None:
    directory = fleet_journal(tmp_path / "run", 12, 0, asking=1)
    source = Shown(directory)
    app = dashboard(source)
    async with app.run_test(size=(120, 30)) as pilot:
        view = app.query_one(FleetView)
        await until(pilot, lambda: view.status_text == "13 of 13")
        app.query_one(Table).move_to("session:task-005@1/worker")
        ends = [
            TaskEnded(task=TaskId(f"task-{number:03}"), status=TaskStatus.CANCELLED, reason="not wanted")
            for number in range(3)
        ]
        write(directory.path, [ApprovalDecided(item="tier/task-011/2", decision="approve", by="ada"), *ends])
        source.read_on()
        await until(pilot, lambda: "not wanted" in "\n".join(screen(app)))
        assert app.query_one(Table).cursor == "session:task-005@1/worker"
        assert "? ask" not in "\n".join(screen(app)[3:16])
        await pilot.press("s", "s")
        await until(pilot, lambda: "sort: cost" in screen(app)[1])


async def test_esc_returns_to_the_row_that_was_opened(fleet: RunDirectory) -> None:
    app = dashboard(Shown(fleet))
    async with app.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: app.query(Table))
        await pilot.press(*["j"] * 9)
        table = app.query_one(Table)
        before = (table.cursor, table.scroll_offset)
        await pilot.press("enter")
        await until(pilot, lambda: "t Transcript" in "\n".join(screen(app)))
        await pilot.press("escape")
        await until(pilot, lambda: "t Transcript" not in "\n".join(screen(app)))
        assert (table.cursor, table.scroll_offset) == before


@pytest.mark.parametrize("name", ["migration.v1", "goal.v2"])
async def test_painting_again_lays_no_column_out_anew(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    layouts: list[int] = []

    def count_layout(columns: Sequence[Column], width: int, margin: int) -> list[ColumnExtent]:
        layouts.append(width)
        return lay_out_columns(columns, width, margin)

    source = Still(kept(name))
    app = at_rest(source)
    async with app.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: app.view_model is not None)
        view = app.view_stack.current_view
        assert isinstance(view, FleetView)
        view.repaint_now()
        await pilot.pause()
        monkeypatch.setattr("orchestrator.tui.widgets.table.lay_out_columns", count_layout)
        for _ in range(3):
            view.repaint_now()
            await pilot.pause()
    assert layouts == []
