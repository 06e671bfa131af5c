"""What is done with a leased worktree: restore a tree, list paths, search."""

import anyio
import pytest

from tests.unit.worktrees.conftest import EXPECTED, FILES, Project, content
from worktrees.checkouts import worktree as worktree_module
from worktrees.checkouts.pool import WorktreePool
from worktrees.checkouts.worktree import Worktree
from worktrees.errors import GitError
from worktrees.snapshots.snapshot import snapshot_worktree


async def test_restore_brings_back_what_was_changed_and_removes_what_was_added(
    worktree: Worktree, project: Project
) -> None:
    Project(worktree.root).write({"src/app.py": "changed\n", "new/file": "x", "a-new": "x"})
    (worktree.root / "README.md").unlink()
    (worktree.root / "new" / "empty" / "dirs").mkdir(parents=True)
    (worktree.root / "src" / "empty" / "dirs").mkdir(parents=True)

    await worktree.restore_tree(project.tree())

    assert content(worktree.root) == EXPECTED


async def test_restore_keeps_what_the_tree_ignores(worktree: Worktree, project: Project) -> None:
    kept = {"noise.log": b"x", "src/noise.log": b"x", "build/cache/deep": b"x", "new/noise.log": b"x"}
    Project(worktree.root).write({**kept, "new/code.py": "goes"})

    await worktree.restore_tree(project.tree())

    assert content(worktree.root) == {**EXPECTED, **kept}


async def test_restore_goes_to_any_tree_and_back(worktree: Worktree, project: Project) -> None:
    Project(worktree.root).write({"src/app.py": "work\n", "added/x": "1", ".gitignore": ""})
    (worktree.root / "tests" / "test_app.py").unlink()
    (worktree.root / "tests").rmdir()
    (worktree.root / "tests").write_text("a file\n")
    taken = await snapshot_worktree(worktree, "work", None)
    worked = content(worktree.root)

    for tree, expected in ((project.tree(), EXPECTED), (taken.tree, worked), (project.tree(), EXPECTED)):
        await worktree.restore_tree(tree)
        assert content(worktree.root) == expected
        assert (await snapshot_worktree(worktree, "again", None)).tree == tree


async def test_restoring_what_is_no_tree_is_refused_and_changes_nothing(worktree: Worktree) -> None:
    (worktree.root / "new").write_text("x")

    with pytest.raises(GitError):
        await worktree.restore_tree("0" * 39 + "1")

    assert content(worktree.root) == {**EXPECTED, "new": b"x"}


async def test_a_restore_that_was_cancelled_is_made_good_by_the_next(worktree: Worktree, project: Project) -> None:
    Project(worktree.root).write({"src/app.py": "work\n", "added/x": "1"})
    taken = await snapshot_worktree(worktree, "work", None)
    worked = content(worktree.root)
    for number in range(12):
        with anyio.move_on_after(number * 0.0015):
            await worktree.restore_tree(project.tree() if number % 2 else taken.tree)

    await worktree.restore_tree(taken.tree)

    assert content(worktree.root) == worked


async def test_paths_are_what_a_snapshot_would_hold(worktree: Worktree, project: Project) -> None:
    Project(worktree.root).write({"new file.py": "x", "noise.log": "x", "build/x": "x", "caf\udce9": "x"})
    (worktree.root / "README.md").unlink()
    (worktree.root / "link").symlink_to("src")
    (worktree.root / "tests" / "test_app.py").unlink()
    (worktree.root / "tests" / "test_app.py").mkdir()
    (worktree.root / "tests" / "test_app.py" / "inner").write_text("x")

    paths = await worktree.list_paths()

    assert paths == tuple(sorted(project.files((await snapshot_worktree(worktree, "work", None)).tree)))
    assert "caf\udce9" in paths
    assert "tests/test_app.py/inner" in paths


@pytest.mark.parametrize(
    ("glob", "expected"),
    [
        ("**", sorted([*FILES, "src/new.py"])),
        ("", sorted([*FILES, "src/new.py"])),
        ("*.py", ["src/app.py", "src/deep/er/mod.py", "src/new.py", "tests/test_app.py"]),
        ("**/*.py", ["src/app.py", "src/deep/er/mod.py", "src/new.py", "tests/test_app.py"]),
        ("src/*.py", ["src/app.py", "src/new.py"]),
        ("./src/*.py", ["src/app.py", "src/new.py"]),
        ("src/**", ["src/app.py", "src/deep/er/mod.py", "src/new.py"]),
        ("src", ["src/app.py", "src/deep/er/mod.py", "src/new.py"]),
        ("src/", ["src/app.py", "src/deep/er/mod.py", "src/new.py"]),
        ("src/**/mod.py", ["src/deep/er/mod.py"]),
        ("er", ["src/deep/er/mod.py"]),
        ("/er", []),
        ("src/[an]*.py", ["src/app.py", "src/new.py"]),
        ("README.m?", ["README.md"]),
        ("nothing/here", []),
        (":(exclude)README.md", []),
        ("-x", []),
    ],
)
async def test_globs_mean_what_people_expect(worktree: Worktree, glob: str, expected: list[str]) -> None:
    (worktree.root / "src" / "new.py").write_text("x")

    assert await worktree.list_paths(glob) == tuple(expected)


async def test_a_glob_that_leaves_the_worktree_is_refused(worktree: Worktree) -> None:
    with pytest.raises(GitError, match="leaves the worktree"):
        await worktree.list_paths("../**")


async def test_grep_finds_tracked_and_untracked_lines_but_no_ignored_or_binary_ones(worktree: Worktree) -> None:
    Project(worktree.root).write(
        {"new.py": "one\nneedle two\n", "noise.log": "needle\n", "bin": b"\0needle", "a:b.txt": "needle: x\n"}
    )
    (worktree.root / "src" / "app.py").write_text("a needle\r\n")

    assert await worktree.search_text("needle", "**", 10) == (
        "a:b.txt:1:needle: x",
        "new.py:2:needle two",
        "src/app.py:1:a needle\r",
    )


async def test_grep_takes_extended_expressions_globs_and_a_limit(worktree: Worktree) -> None:
    (worktree.root / "many.txt").write_text("".join(f"row {number}\n" for number in range(100)))

    assert await worktree.search_text("^(print|x) ?[(=]", "*.py", 10) == (
        "src/app.py:1:print('app')",
        "src/deep/er/mod.py:1:x = 1",
    )
    assert await worktree.search_text("row", "**", 2) == ("many.txt:1:row 0", "many.txt:2:row 1")
    assert await worktree.search_text("row", "src", 2) == ()
    assert await worktree.search_text("-e", "**", 2) == ()


async def test_a_bad_expression_is_refused_with_gits_reason(worktree: Worktree) -> None:
    with pytest.raises(GitError, match=r"[Uu]nmatched"):
        await worktree.search_text("(open", "**", 10)


async def test_long_lines_and_undecodable_bytes_are_shown_cut_and_replaced(worktree: Worktree) -> None:
    (worktree.root / "long.txt").write_bytes(b"needle \xff" + b"x" * 5000)

    (line,) = await worktree.search_text("needle", "**", 10)

    assert line.startswith("long.txt:1:needle \ufffdxxx")
    assert len(line) < 1100


async def test_a_search_that_takes_too_long_is_ended(worktree: Worktree, monkeypatch: pytest.MonkeyPatch) -> None:
    (worktree.root / "x.txt").write_text("x" * 5000)
    monkeypatch.setattr(worktree_module, "_GREP_TIMEOUT_S", 0.2)

    with pytest.raises(GitError, match="took longer than"):
        await worktree.search_text(r"(x*)*\1y", "**", 10)


async def test_two_worktrees_do_not_see_each_other(pool: WorktreePool, worktree: Worktree) -> None:
    other = await pool.lease_worktree(worktree.commit)
    (worktree.root / "mine.txt").write_text("needle\n")

    assert await other.search_text("needle", "**", 10) == ()
    assert await other.list_paths() == tuple(sorted(FILES))


async def test_paths_beside_a_tree_are_what_its_files_do_not_make_up(worktree: Worktree, project: Project) -> None:
    tree = project.tree()
    assert await worktree.list_paths_beside(tree, 9) == ()
    (worktree.root / "src/app.py").write_text("changed\n")
    (worktree.root / "tests/test_app.py").unlink()
    (worktree.root / "tests").rmdir()
    (worktree.root / "tests").symlink_to("src")
    (worktree.root / "src/deep/er/a.log").write_text("ignored\n")
    (worktree.root / "build/lib").mkdir(parents=True)
    (worktree.root / "build/lib/x").write_text("x\n")
    (worktree.root / "src/empty").mkdir()
    found = ("build", "tests", "src/empty", "src/deep/er/a.log")
    assert await worktree.list_paths_beside(tree, 9) == found
    assert await worktree.list_paths_beside(tree, 2) == found[:2]
    with pytest.raises(GitError):
        await worktree.list_paths_beside("0" * 40, 9)
