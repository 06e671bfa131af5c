"""A replay as a picture that moves: well-formed, self-contained, and with what was to be seen."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.tui.run_feed.feed import PlaybackClock, RunFeed
from orchestrator.tui.settings import DashboardSettings
from orchestrator.tui.svg_film import FilmedDashboard, render_film_svg
from orchestrator.tui.view_model import ViewModel
from tests.golden import DATA, DOCS
from tests.tui.sources import Sent
from tests.unit.journal.test_golden_journals import restore

SIZE = (100, 24)


@pytest.mark.extended
async def test_a_recorded_run_is_filmed_to_its_end(tmp_path: Path) -> None:
    restore(DATA / "journals" / "goal.v2.jsonl", tmp_path / "journal.db")
    app = FilmedDashboard(
        RunFeed(RunDirectory(tmp_path), replay=PlaybackClock(2)), Sent().doors, DashboardSettings(is_read_only=True)
    )
    async with app.run_test(size=SIZE) as pilot:
        while app.is_running:
            await pilot.pause(0.1)

    picture = render_film_svg(app.frames, *SIZE)

    root = ElementTree.fromstring(picture)
    frames = [group for group in root if group.get("class") == "f"]
    assert len(frames) == len(app.frames) > 5
    assert all(len(group) == SIZE[1] for group in frames)
    kinds = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert kinds <= {"svg", "style", "rect", "defs", "g", "text", "use"}
    assert re.findall(r"https?://(?!www\.w3\.org/2000/svg)", picture) == []
    told = ["".join(element.itertext()) for element in root.iter() if element.tag.endswith("}g")]
    for wanted in ("1 Fleet", "Add discounts", "4/4"):
        assert any(wanted in text for text in told), wanted


class LateFeed(RunFeed):
    """A feed that knows nothing of the run for its first looks."""

    unknowing_looks = 6

    def get_view_model(self) -> ViewModel | None:
        self.unknowing_looks -= 1
        return None if self.unknowing_looks >= 0 else super().get_view_model()


@pytest.mark.extended
async def test_a_film_begins_with_the_first_frame_that_shows_something(tmp_path: Path) -> None:
    restore(DATA / "journals" / "goal.v2.jsonl", tmp_path / "journal.db")
    feed = LateFeed(RunDirectory(tmp_path), replay=PlaybackClock(0.5))
    app = FilmedDashboard(feed, Sent().doors, DashboardSettings(is_read_only=True))
    async with app.run_test(size=SIZE) as pilot:
        while not app.frames:
            await pilot.pause(0.1)

    assert feed.unknowing_looks < 0
    first = "".join(app.frames[0])
    assert "worker" in first
    assert "Nothing has happened yet" not in first


def test_the_film_of_the_guide_is_small_and_begins_with_a_fleet_at_work() -> None:
    picture = (DOCS / "dashboard" / "watch.svg").read_text(encoding="utf-8")
    assert len(picture) < 300_000
    root = ElementTree.fromstring(picture)
    lines = {line.get("id"): "".join(line.itertext()) for line in root.iter() if line.tag.endswith("}g")}
    first = next(group for group in root if group.get("class") == "f")
    shown = [lines[str(use.get("href")).removeprefix("#")] for use in first]
    assert sum(" worker " in line and ("at work" in line or "think" in line) for line in shown) >= 8


def test_no_picture_of_the_guide_is_large_or_tells_a_path() -> None:
    pictures = [path for path in (DOCS / "dashboard").rglob("*.svg") if path.name != "watch.svg"]
    assert len(pictures) >= 8
    for path in (*pictures, DOCS / "dashboard" / "watch.svg"):
        assert re.findall(r"/(?:tmp|root|home|work)/", path.read_text(encoding="utf-8")) == [], path
    assert max(path.stat().st_size for path in pictures) < 200_000
