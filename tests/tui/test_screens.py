"""What every screen looks like on two recorded runs, at two sizes: kept in docs/dashboard, to be read in review."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.tui.app import Dashboard
from tests.golden import DATA, DOCS, check_golden
from tests.tui.asking import LANDING, LATER, TIERS, Asking
from tests.tui.sources import Sent, Still, kept, seen
from tests.unit.journal.test_golden_journals import restore

SIZES = [(80, 24), (160, 48)]
GOAL = {
    "fleet": ("1",),
    "worker": ("1", "enter"),
    "plan": ("2",),
    "merge": ("3",),
    "inbox": ("4",),
    "cost": ("5",),
    "log": ("6",),
    "help": ("question_mark",),
}
MIGRATION = {"migration-fleet": ("1",), "burndown": ("2",), "migration-merge": ("3",), "file": ("2", "tab", "enter")}


@pytest.fixture(autouse=True)
def _in_utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Times of day are shown in local time."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    os.environ.setdefault("TZ", "UTC") if "TZ" in os.environ else None
    time.tzset()


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("name", GOAL)
async def test_a_screen_of_a_goal_looks_as_it_does_in_the_guide(
    name: str, size: tuple[int, int], tmp_path: Path
) -> None:
    source = Asking(LATER, LANDING, TIERS[0])
    restore(DATA / "journals" / "goal.v2.jsonl", tmp_path / "journal.db")
    source.directory = type(source.directory)(tmp_path)
    await _check(name, size, source, GOAL[name])


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("name", MIGRATION)
async def test_a_screen_of_a_migration_looks_as_it_does_in_the_guide(
    name: str, size: tuple[int, int], tmp_path: Path
) -> None:
    restore(DATA / "journals" / "migration.v1.jsonl", tmp_path / "journal.db")
    await _check(name, size, Still(kept("migration.v1"), directory=tmp_path), MIGRATION[name])


async def _check(name: str, size: tuple[int, int], source: Still, keys: tuple[str, ...]) -> None:
    app = Dashboard(source, Sent().doors)
    async with app.run_test(size=size) as pilot:
        for key in keys:
            await pilot.press(key)
            await pilot.pause(0.6)
        text = "\n".join(seen(app)) + "\n"
    check_golden(f"dashboard/{name}-{size[0]}x{size[1]}.txt", text, DOCS)


def test_the_guide_has_these_screens_and_no_more_than_people_read() -> None:
    kept_ones = {path.name for path in (DOCS / "dashboard").glob("*.txt")}
    assert kept_ones == {f"{name}-{width}x{height}.txt" for name in GOAL | MIGRATION for width, height in SIZES}
    assert len(kept_ones) <= 25
