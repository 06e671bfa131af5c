"""Disk use is told at a bounded price, and said to be incomplete where it is."""

from pathlib import Path

import pytest

from orchestrator.journal.disk import DiskUse, disk_use, tree_bytes


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
    use = disk_use(tmp_path)
    assert use.is_whole
    assert use.journals >= 9000
    assert use.blobs == tree_bytes(tmp_path / "runs" / "r1" / "blobs")
    assert use.logs == tree_bytes(tmp_path / "runs" / "r1" / "logs") + tree_bytes(tmp_path / "logs")
    assert use.worktrees == tree_bytes(tmp_path / "worktrees")
    assert use.total == use.journals + use.blobs + use.logs + use.worktrees


def test_no_more_is_looked_at_than_allowed(tmp_path: Path) -> None:
    fill(tmp_path / "worktrees" / "w1", 50)
    cut = disk_use(tmp_path, entries=20)
    assert not cut.is_whole
    assert 0 < cut.worktrees < tree_bytes(tmp_path / "worktrees")


def test_nothing_is_no_error_and_links_are_not_followed(tmp_path: Path) -> None:
    assert disk_use(tmp_path / "none") == DiskUse(0, 0, 0, 0, is_whole=True)
    fill(tmp_path / "elsewhere", 10, 100_000)
    (tmp_path / "state" / "worktrees").mkdir(parents=True)
    (tmp_path / "state" / "worktrees" / "w1").symlink_to(tmp_path / "elsewhere")
    assert disk_use(tmp_path / "state").worktrees < 100_000
