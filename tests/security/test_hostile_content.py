"""Files, links and names that a worker may leave: they hang nothing, lead nowhere, and do not outlive the lease."""

import os
import shutil
from pathlib import Path

import pytest

from tests.unit.worktrees.conftest import EXPECTED, FILES, Project, content, whole_way
from worktrees.checkouts.pool import WorktreePool
from worktrees.checkouts.worktree import Worktree


async def test_a_tracked_directory_replaced_by_a_link_to_a_copy_of_itself(
    worktree: Worktree, pool: WorktreePool, project: Project
) -> None:
    """The files behind the link are the very ones of the index, so that only the link itself gives it away."""
    (worktree.root / "src").rename(worktree.root / "real")
    (worktree.root / "src").symlink_to("real")

    taken = await whole_way(worktree, pool)

    assert project.git("ls-tree", taken.tree, "src").startswith("120000")
    assert "real/app.py" in project.files(taken.tree)


async def test_a_tracked_directory_replaced_by_a_link_out_of_the_worktree(
    worktree: Worktree, pool: WorktreePool, project: Project, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    shutil.copytree(worktree.root / "src", outside)
    (outside / "app.py").write_text("print('a secret of the host')\n")
    shutil.rmtree(worktree.root / "src")
    (worktree.root / "src").symlink_to(outside)

    assert await worktree.search_text("secret", "**", 5) == ()
    assert not [path for path in await worktree.list_paths() if path.startswith("src/")]
    taken = await whole_way(worktree, pool)

    assert project.files(taken.tree) == [".gitignore", "README.md", "tests/test_app.py"]
    assert taken.dropped == ("src: it is a link to an absolute path",)
    assert (outside / "app.py").read_text() == "print('a secret of the host')\n"
    assert (outside / "deep" / "er" / "mod.py").exists()


async def test_links_that_lead_out_are_left_out_and_links_within_are_kept(
    worktree: Worktree, pool: WorktreePool, project: Project, tmp_path: Path
) -> None:
    links = {
        "absolute": "/etc/passwd",
        "up": "../outside",
        "src/up": "../../outside",
        "climbs/later": "../src/../../outside",
        "into-git": ".git/config",
        "self": ".",
        "sideways": "self/../outside",
        "fine": "README.md",
        "src/fine": "../README.md",
        "dangling": "not/there",
    }
    for path, target in links.items():
        (worktree.root / path).parent.mkdir(exist_ok=True)
        (worktree.root / path).symlink_to(target)

    taken = await whole_way(worktree, pool)

    kept = {path for path in project.files(taken.tree) if path not in FILES}
    assert kept == {"self", "fine", "src/fine", "dangling"}
    assert {line.split(":")[0] for line in taken.dropped} == set(links) - kept


async def test_pipes_sockets_and_unreadable_places_hang_nothing(
    worktree: Worktree, pool: WorktreePool, project: Project
) -> None:
    os.mkfifo(worktree.root / "pipe")
    os.mkfifo(worktree.root / "src" / "pipe")
    (worktree.root / "README.md").unlink()
    os.mkfifo(worktree.root / "README.md")
    (worktree.root / "locked" / "in").mkdir(parents=True)
    (worktree.root / "locked" / "in" / "file").write_text("x")
    (worktree.root / "locked" / "in").chmod(0)
    (worktree.root / "locked").chmod(0o555)
    (worktree.root / "src" / "deep").chmod(0o1500)

    taken = await whole_way(worktree, pool)

    assert taken.dropped == ("README.md: it is no regular file",)
    assert project.show(f"{taken.tree}:README.md") == b"hello\n"
    assert (worktree.root / "src" / "deep").stat().st_mode & 0o7700 == 0o700


async def test_a_very_deep_and_a_very_wide_directory_are_removed(worktree: Worktree, pool: WorktreePool) -> None:
    here = os.open(worktree.root, os.O_RDONLY)
    for _ in range(1200):  # more than Python recurses, and a longer path than the system takes
        os.mkdir("deep", dir_fd=here)
        deeper = os.open("deep", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = deeper
    os.close(here)
    (worktree.root / "wide").mkdir()
    for number in range(2000):
        (worktree.root / "wide" / str(number)).touch()
    await pool.release_worktree(worktree)

    assert content((await pool.lease_worktree(worktree.commit)).root) == EXPECTED


@pytest.mark.attack(31)
async def test_names_that_are_no_text_or_look_like_options_survive_byte_for_byte(
    worktree: Worktree, pool: WorktreePool, project: Project
) -> None:
    names = ["-rf", "--output=x", ":(glob)**", "*", "a b\\c", "caf\udce9", "näme", "'\"", "{a,b}", "#x", "!x", "~"]
    for name in names:
        (worktree.root / name).write_bytes(os.fsencode(name))

    taken = await whole_way(worktree, pool)

    assert sorted(set(project.files(taken.tree)) - set(FILES)) == sorted(names)
    assert {project.show(f"{taken.tree}:{name}") for name in names} == set(map(os.fsencode, names))
    assert taken.dropped == ()


@pytest.mark.attack(31)
async def test_names_with_control_characters_or_like_git_are_left_out(
    worktree: Worktree, pool: WorktreePool, project: Project
) -> None:
    bad = [
        "esc\x1b[31m",
        "line\nbreak",
        "c1\u009b",
        ".GIT",
        "git~1",
        ".git ",
        ".g\u200cit",
        "src/.Git/config",
        "a\\.git",
    ]
    for name in bad:
        (worktree.root / name).parent.mkdir(exist_ok=True)
        (worktree.root / name).write_text("x")
    (worktree.root / "fine").write_text("x")

    taken = await whole_way(worktree, pool)

    assert project.files(taken.tree) == sorted([*FILES, "fine"])
    assert len(taken.dropped) == len(bad)
    assert all(line.isprintable() for line in taken.dropped)


async def test_ignore_rules_that_hide_everything_hide_nothing_from_a_restore(
    worktree: Worktree, project: Project
) -> None:
    (worktree.root / ".git").unlink()
    (worktree.root / "src" / ".gitignore").write_text("*\n")
    (worktree.root / "src" / "hidden.py").write_text("left behind\n")
    (worktree.root / ".gitignore").write_text("*\n")
    (worktree.root / "conftest.py").write_text("left behind\n")

    await worktree.restore_tree(project.tree())

    (worktree.root / ".git").touch()
    assert content(worktree.root) == EXPECTED
    (worktree.root / ".git").unlink()
