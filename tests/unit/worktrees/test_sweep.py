"""What is known of directories, and handing files over: details on which the cheap way of recycling rests."""

import os
import time
from pathlib import Path

import pytest

from worktrees.checkouts.cleanup import chown_tree, remove_misfits
from worktrees.checkouts.tree_layout import DirectoryNames, VerifiedDirectories

NAMES = DirectoryNames(frozenset(), frozenset({"a"}))
LAYOUT = {"": NAMES}
LONG_AGO_NS = 10**18

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another user")


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "a").write_text("x")
    return tmp_path


def settled() -> None:
    time.sleep(0.12)


def knows(seen: VerifiedDirectories, directory: Path, names: DirectoryNames = NAMES) -> bool:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        return seen.is_unchanged("", descriptor, names)
    finally:
        os.close(descriptor)


def test_a_directory_in_order_is_known_until_something_in_it_changes(directory: Path) -> None:
    seen = VerifiedDirectories()
    settled()
    remove_misfits(directory, LAYOUT, seen)
    assert knows(seen, directory)
    assert not knows(seen, directory, DirectoryNames(frozenset(), frozenset({"b"})))

    (directory / "stranger").touch()
    os.utime(directory, ns=(LONG_AGO_NS, LONG_AGO_NS))

    assert not knows(seen, directory)
    remove_misfits(directory, LAYOUT, seen)
    assert [entry.name for entry in directory.iterdir()] == ["a"]


def test_a_directory_that_has_just_changed_is_not_known_yet(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "worktrees.checkouts.tree_layout._SETTLED_NS", 600 * 10**9
    )  # "just" may be some time ago on a busy machine
    seen = VerifiedDirectories()
    remove_misfits(directory, LAYOUT, seen)

    assert not knows(seen, directory)


def test_what_is_known_can_be_forgotten(directory: Path) -> None:
    seen = VerifiedDirectories()
    settled()
    remove_misfits(directory, LAYOUT, seen)
    seen.forget_all()

    assert not knows(seen, directory)


def test_a_sweep_that_keeps_strangers_takes_nothing_for_granted_later(directory: Path) -> None:
    seen = VerifiedDirectories()
    (directory / "stranger").touch()
    settled()
    remove_misfits(directory, LAYOUT, seen, keeps_strangers=True)
    assert (directory / "stranger").exists()

    remove_misfits(directory, LAYOUT, seen)

    assert not (directory / "stranger").exists()


@needs_root
def test_a_file_that_is_given_away_looks_as_new_as_its_change_of_owner(directory: Path) -> None:
    os.utime(directory / "a", ns=(LONG_AGO_NS, LONG_AGO_NS))

    assert chown_tree(directory, LAYOUT, VerifiedDirectories(), 12345)

    found = (directory / "a").stat()
    assert (found.st_uid, abs(found.st_mtime_ns - found.st_ctime_ns) < 10**9) == (12345, True)
    assert not chown_tree(directory, LAYOUT, VerifiedDirectories(), 12345)


@needs_root
def test_a_link_is_given_away_and_not_what_it_points_to(directory: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.touch()
    (directory / "a").unlink()
    (directory / "a").symlink_to(target)

    assert chown_tree(directory, LAYOUT, VerifiedDirectories(), 12345)

    assert ((directory / "a").lstat().st_uid, target.stat().st_uid) == (12345, 0)
