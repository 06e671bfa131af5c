"""From any tree to any other: the short way, by what differs, ends where the long way does."""

from pathlib import Path

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.worktrees.conftest import Project, content
from worktrees.checkouts import worktree as worktree_module
from worktrees.checkouts.pool import WorktreePool
from worktrees.checkouts.tree_checkout import read_index_tree
from worktrees.checkouts.tree_layout import DirectoryNames, LayoutCache, TreeLayout, patch_layout
from worktrees.checkouts.worktree import Worktree
from worktrees.diffs.tree_changes import TreeChange, compare_trees
from worktrees.git import Git
from worktrees.object_store.tree_overlay import overlay_tree
from worktrees.object_store.trees import write_blob, write_empty_tree
from worktrees.repositories.repository import GitRepository

PATHS = st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map("/".join)
CONTENTS = st.sampled_from(["100644:one", "100644:two", "100755:one", "120000:a", "160000:"])


def consistent(files: dict[str, str]) -> dict[str, str]:
    """Without the files that lie below another file."""
    return {path: text for path, text in files.items() if not any(path.startswith(f"{other}/") for other in files)}


TREES = st.dictionaries(PATHS, CONTENTS, max_size=7).map(consistent)


async def built(git: Git, files: dict[str, str]) -> str:
    changes = {}
    for path, text in files.items():
        mode, _, data = text.partition(":")
        oid = await git.run_text("rev-parse", "HEAD") if mode == "160000" else await write_blob(git, data.encode())
        changes[path] = (mode, oid)
    return await overlay_tree(git, await write_empty_tree(git), changes)


def as_content(files: dict[str, str]) -> dict[str, object]:
    kinds: dict[str, object] = {"120000": "-> a", "160000": "special"}
    return {path: kinds.get(text[:6], text[7:].encode()) for path, text in files.items()}


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.tuples(TREES, st.booleans(), TREES), min_size=2, max_size=4))
async def test_a_worktree_goes_from_any_tree_to_any_other_whatever_was_left_in_it(
    worktree: Worktree, steps: list[tuple[dict[str, str], bool, dict[str, str]]]
) -> None:
    for files, is_restored, mess in steps:
        tree = await built(worktree.git, files)
        leave_behind(worktree.root, mess)

        await worktree.restore_tree(tree, keeps_ignored=is_restored)

        assert content(worktree.root) == as_content(files)
        assert await worktree.git.run_text("write-tree") == tree
        assert await worktree.git.run_text("diff-files", "--name-only") == ""
        executable = {path for path, text in files.items() if text.startswith("100755")}
        assert {path for path in files if is_executable(worktree.root / path)} == executable


def is_executable(place: Path) -> bool:
    return place.is_file() and not place.is_symlink() and bool(place.stat().st_mode & 0o100)


def leave_behind(root: Path, mess: dict[str, str]) -> None:
    """Put files, links and directories wherever that is possible."""
    for path, text in mess.items():
        place = root / path
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            if text.startswith("120000"):
                place.unlink(missing_ok=True)
                place.symlink_to(root.parent)
            elif text.startswith("160000"):
                place.mkdir()
            else:
                place.write_text("left behind")
        except OSError:
            continue


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(old=TREES, new=TREES)
async def test_a_layout_made_from_a_near_one_is_the_one_that_is_read(
    repository: GitRepository, old: dict[str, str], new: dict[str, str]
) -> None:
    git = repository.git
    old_tree, new_tree = await built(git, old), await built(git, new)
    delta = await compare_trees(git, old_tree, new_tree)

    assert patch_layout(await LayoutCache().load_layout(git, old_tree), delta) == await LayoutCache().load_layout(
        git, new_tree
    )


async def test_files_and_directories_change_places(worktree: Worktree) -> None:
    as_file = {"a": "100644:one", "b/c": "100644:two"}
    as_directory = {"a/x": "100644:one", "b": "100644:two"}
    for files in (as_file, as_directory, as_file):
        await worktree.restore_tree(await built(worktree.git, files))

        assert content(worktree.root) == as_content(files)


async def test_a_layout_names_what_each_directory_holds(project: Project, repository: GitRepository) -> None:
    head = project.git("rev-parse", "HEAD")
    tree = await overlay_tree(repository.git, project.tree(), {"sub": ("160000", head)})
    layouts = LayoutCache()

    layout: TreeLayout = await layouts.load_layout(repository.git, tree)

    nothing: frozenset[str] = frozenset()
    assert layout == {
        "": DirectoryNames(frozenset({"src", "tests", "sub"}), frozenset({".gitignore", "README.md"})),
        "src": DirectoryNames(frozenset({"deep"}), frozenset({"app.py"})),
        "src/deep": DirectoryNames(frozenset({"er"}), nothing),
        "src/deep/er": DirectoryNames(nothing, frozenset({"mod.py"})),
        "sub": DirectoryNames(nothing, nothing),
        "tests": DirectoryNames(nothing, frozenset({"test_app.py"})),
    }
    assert await layouts.load_layout(repository.git, tree) is layout


async def test_a_delta_names_paths_with_their_modes(project: Project, repository: GitRepository) -> None:
    old = project.tree()
    (project.root / "src" / "app.py").chmod(0o755)
    (project.root / "README.md").unlink()
    project.commit({"new": "x"})

    delta = {change.path: change for change in await compare_trees(repository.git, old, project.tree())}

    assert delta == {
        "README.md": TreeChange("README.md", "100644", None, "0" * 40),
        "new": TreeChange("new", None, "100644", project.git("rev-parse", "HEAD:new")),
        "src/app.py": TreeChange("src/app.py", "100644", "100755", project.git("rev-parse", "HEAD:src/app.py")),
    }


async def test_a_file_that_the_other_tree_ignores_goes_if_it_was_tracked_and_stays_if_not(
    worktree: Worktree, project: Project
) -> None:
    await worktree.restore_tree(await built(worktree.git, {"tracked.log": "100644:one", "a/b.log": "100644:one"}))
    (worktree.root / "tracked.log").write_text("changed")
    (worktree.root / "own.log").write_text("ignored")

    await worktree.restore_tree(project.tree(worktree.commit))

    assert sorted(content(worktree.root)) == sorted([*project.files(worktree.commit), "own.log"])


async def test_the_long_way_is_gone_when_nearly_everything_differs(
    worktree: Worktree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worktree_module, "_LONG_DELTA", 1)
    files = {"a": "100644:one", "b/c": "100644:two"}
    tree = await built(worktree.git, files)

    await worktree.restore_tree(tree, keeps_ignored=False)

    assert content(worktree.root) == as_content(files)
    assert read_index_tree(worktree.admin, None) == tree


async def test_a_change_that_is_cancelled_on_the_way_is_made_good_by_the_next(
    pool: WorktreePool, worktree: Worktree, project: Project
) -> None:
    other = project.commit({"src/app.py": "other\n", "brand/new.py": "x\n"})
    trees = [project.tree(worktree.commit), project.tree(other)]
    for number in range(6):
        with anyio.move_on_after(number * 0.003):
            await worktree.restore_tree(trees[number % 2])

        await worktree.restore_tree(trees[1])
        assert (worktree.root / "src" / "app.py").read_text() == "other\n"
        assert (worktree.root / "brand" / "new.py").exists()
        assert await worktree.git.run_text("diff-files", "--name-only") == ""
        await worktree.restore_tree(trees[0])
        assert not (worktree.root / "brand").exists()
