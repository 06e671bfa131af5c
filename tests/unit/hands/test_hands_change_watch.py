"""Changes of a checkout since it was last looked at, as the kernel reports them."""

import mmap
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.hands.watch import change_watch
from orchestrator.hands.watch.change_watch import ChangeWatcher


@pytest.fixture
def watcher() -> Iterator[ChangeWatcher]:
    made = ChangeWatcher()
    yield made
    made.close()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return fill(tmp_path / "checkout")


def fill(root: Path) -> Path:
    for name in ("a.txt", "deep/er/b.txt", ".git/HEAD", "lent/c.txt"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"{name} has a text\n")
    return root


def write_through_a_mapping(root: Path) -> None:
    with (root / "a.txt").open("r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        file.close()
        memory[0:1] = b"X"


def write_in_a_new_directory(root: Path) -> None:
    (root / "new" / "one").mkdir(parents=True)
    (root / "new" / "one" / "d.txt").write_text("d\n")


CHANGES: dict[str, Callable[[Path], object]] = {
    "written": lambda root: (root / "a.txt").write_text("a\n"),
    "written with the same text": lambda root: (root / "a.txt").write_text((root / "a.txt").read_text()),
    "cut": lambda root: os.truncate(root / "deep/er/b.txt", 1),
    "mapped": write_through_a_mapping,
    "new": lambda root: (root / "deep/c.txt").touch(),
    "gone": lambda root: (root / "a.txt").unlink(),
    "renamed": lambda root: (root / "a.txt").rename(root / "z.txt"),
    "made executable": lambda root: (root / "deep/er/b.txt").chmod(0o755),
    "linked to": lambda root: (root / "l").symlink_to("a.txt"),
    "linked to by another name": lambda root: os.link(root / "a.txt", root / "deep" / "same"),
    "a directory renamed": lambda root: (root / "deep").rename(root / "shallow"),
    "in a new directory": write_in_a_new_directory,
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_every_kind_of_change_is_noticed(watcher: ChangeWatcher, root: Path, change: Callable[[Path], object]) -> None:
    tree = watcher.watch_tree(root, {"lent"})
    assert tree.begin_watch()
    assert not tree.has_changed()
    change(root)
    assert tree.has_changed()


def test_reading_and_what_lies_elsewhere_change_nothing(watcher: ChangeWatcher, root: Path) -> None:
    tree = watcher.watch_tree(root, {"lent"})
    assert tree.begin_watch()
    (root / "a.txt").read_text()
    list(root.rglob("*"))
    (root / ".git" / "HEAD").write_text("other\n")
    (root / "lent" / "c.txt").write_text("other\n")
    (root / "lent").chmod(0o700)
    assert not tree.has_changed()


def test_nothing_is_taken_for_unchanged_before_the_first_look(watcher: ChangeWatcher, root: Path) -> None:
    assert watcher.watch_tree(root).has_changed()


def test_directories_that_came_are_watched_from_the_next_look_on(watcher: ChangeWatcher, root: Path) -> None:
    tree = watcher.watch_tree(root)
    assert tree.begin_watch()
    write_in_a_new_directory(root)
    assert tree.begin_watch()
    assert not tree.has_changed()
    (root / "new/one/d.txt").write_text("other\n")
    assert tree.has_changed()


def test_a_link_in_a_nested_repository_hides_no_change(watcher: ChangeWatcher, root: Path) -> None:
    (root / "deep" / ".git").mkdir()
    os.link(root / "a.txt", root / "deep" / ".git" / "same")
    tree = watcher.watch_tree(root)
    assert tree.begin_watch()
    (root / "deep" / ".git" / "same").write_text("other\n")
    assert (root / "a.txt").read_text() == "other\n"
    assert tree.has_changed()


def test_a_tree_with_too_many_directories_always_counts_as_changed(
    watcher: ChangeWatcher, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_watch, "MOST_FOLDERS", 2)
    tree = watcher.watch_tree(root)
    assert not tree.begin_watch()
    assert tree.has_changed()


def test_trees_share_the_watcher_and_know_only_of_themselves(watcher: ChangeWatcher, tmp_path: Path) -> None:
    first, second = (watcher.watch_tree(fill(tmp_path / name)) for name in ("one", "two"))
    assert first.begin_watch()
    assert second.begin_watch()
    (tmp_path / "two" / "a.txt").write_text("other\n")
    assert (first.has_changed(), second.has_changed()) == (False, True)
    second.end_watch()
    assert (first.has_changed(), second.has_changed()) == (False, True)
    (tmp_path / "one" / "a.txt").write_text("other\n")
    assert first.has_changed()


def test_a_closed_watcher_knows_of_nothing(root: Path) -> None:
    watcher = ChangeWatcher()
    tree = watcher.watch_tree(root)
    assert tree.begin_watch()
    watcher.close()
    assert tree.has_changed()


NAMES = st.sampled_from(["a", "b", "c/d", "c/e", "c/f/g"])
STEPS = st.lists(st.tuples(st.sampled_from(["write", "remove", "rename", "look"]), NAMES, NAMES), max_size=12)


@settings(max_examples=60, deadline=None)
@given(STEPS)
def test_content_that_differs_is_never_taken_for_unchanged(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str, str]]
) -> None:
    root, watcher = tmp_path_factory.mktemp("random"), ChangeWatcher()
    tree = watcher.watch_tree(root)
    assert tree.begin_watch()
    before = read_content(root)
    for step, name, other in steps:
        if step == "look":
            assert tree.begin_watch()
            before = read_content(root)
        else:
            take_step(root, step, name, other)
    if read_content(root) != before:
        assert tree.has_changed()
    watcher.close()


def take_step(root: Path, step: str, name: str, other: str) -> None:
    path, target = root / name, root / other
    if step == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.write(other)
    elif path.exists() and step == "remove":
        path.unlink()
    elif path.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        path.rename(target)


def read_content(root: Path) -> dict[str, str]:
    return {str(path): path.read_text() for path in sorted(root.rglob("*")) if path.is_file()}
