import os
import time
from pathlib import Path

import pytest

from orchestrator.hands.deps.store import DepsStore

DAY_S = 24 * 3600.0


@pytest.fixture
def store(tmp_path: Path) -> DepsStore:
    return DepsStore(tmp_path / "deps")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "work" / ".venv").mkdir(parents=True)
    (tmp_path / "work" / ".venv" / "pyvenv.cfg").touch()
    return tmp_path / "work"


def aged(store: DepsStore, key: str) -> None:
    os.utime(store.root / f"{key}.used", (time.time() - 2 * DAY_S,) * 2)


def test_what_is_adopted_is_there_whole(store: DepsStore, source: Path) -> None:
    with store.hold_entry("k") as place:
        assert not store.has_entry("k")
        store.move_into_entry("k", source, [".venv"])
        assert store.has_entry("k")
        assert (place / ".venv" / "pyvenv.cfg").exists()
    assert not (source / ".venv").exists()


def test_what_was_left_half_made_is_never_there_and_is_made_anew(store: DepsStore, source: Path) -> None:
    with store.hold_entry("k") as place:
        (store.root / "k.new" / "other").mkdir(parents=True)
        assert not store.has_entry("k")
        store.move_into_entry("k", source, [".venv"])
        assert [entry.name for entry in place.iterdir()] == [".venv"]


@pytest.mark.parametrize("name", ["link", "folder/node_modules", "gone"])
def test_nothing_is_moved_through_a_link(store: DepsStore, source: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "private" / "node_modules").mkdir(parents=True)
    (source / "link").symlink_to(tmp_path / "private")
    (source / "folder").symlink_to(tmp_path / "private")
    with store.hold_entry("k"), pytest.raises(OSError, match="no directory of the workspace"):
        store.move_into_entry("k", source, [".venv", name])
    assert not store.has_entry("k")
    assert (tmp_path / "private" / "node_modules").is_dir()


def test_only_what_nobody_has_used_for_long_may_go(store: DepsStore, source: Path) -> None:
    with store.hold_entry("k"):
        store.move_into_entry("k", source, [".venv"])
        aged(store, "k")
        assert store.list_unused_keys(DAY_S) == ()
        store.remove_entry("k")
        assert store.has_entry("k")
    assert store.list_unused_keys(3 * DAY_S) == ()
    assert store.list_unused_keys(DAY_S) == ("k",)
    store.remove_entry("k")
    assert list(store.root.iterdir()) == []


def test_half_made_things_of_the_dead_may_go_at_once(store: DepsStore) -> None:
    (store.root / "k.new").mkdir(parents=True)
    assert store.list_unused_keys(DAY_S) == ("k",)
