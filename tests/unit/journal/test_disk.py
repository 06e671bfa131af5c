"""Disk use is told at a bounded price, and said to be incomplete where it is."""

from pathlib import Path

import pytest

from orchestrator.journal.locations.disk_usage import StateDiskUsage, measure_disk_usage, measure_tree_bytes


def fill(place: Path, count: int, size: int = 5000) -> None:
    place.mkdir(parents=True)
    for number in range(count):
        (place / str(number)).write_bytes(b"x" * size)


@pytest.mark.damaged_journal
def test_every_kind_is_counted_by_what_it_takes_on_disk(tmp_path: Path) -> None:
    fill(tmp_path / "runs" / "r1" / "blobs" / "ab", 3)
    fill(tmp_path / "runs" / "r1" / "logs", 2)
    fill(tmp_path / "logs" / "session", 1)
    fill(tmp_path / "worktrees" / "w1" / "deep", 4)
    (tmp_path / "runs" / "r1" / "journal.db").write_bytes(b"x" * 9000)
    use = measure_disk_usage(tmp_path)
    assert use.is_whole
    assert use.journals >= 9000
    assert use.blobs == measure_tree_bytes(tmp_path / "runs" / "r1" / "blobs")
    assert use.logs == measure_tree_bytes(tmp_path / "runs" / "r1" / "logs") + measure_tree_bytes(tmp_path / "logs")
    assert use.worktrees == measure_tree_bytes(tmp_path / "worktrees")
    assert use.total == use.journals + use.blobs + use.logs + use.worktrees


def test_no_more_is_looked_at_than_allowed(tmp_path: Path) -> None:
    fill(tmp_path / "worktrees" / "w1", 50)
    cut = measure_disk_usage(tmp_path, entries=20)
    assert not cut.is_whole
    assert 0 < cut.worktrees < measure_tree_bytes(tmp_path / "worktrees")


def test_nothing_is_no_error_and_links_are_not_followed(tmp_path: Path) -> None:
    assert measure_disk_usage(tmp_path / "none") == StateDiskUsage(0, 0, 0, 0, is_whole=True)
    fill(tmp_path / "elsewhere", 10, 100_000)
    (tmp_path / "state" / "worktrees").mkdir(parents=True)
    (tmp_path / "state" / "worktrees" / "w1").symlink_to(tmp_path / "elsewhere")
    assert measure_disk_usage(tmp_path / "state").worktrees < 100_000
