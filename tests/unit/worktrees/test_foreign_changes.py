"""Merges held against their sides: whatever git merges is right, and what takes back an earlier side is found."""

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.worktrees.conftest import Project
from worktrees.diffs.foreign_changes import TreeMerge, find_foreign_changes
from worktrees.git import Git
from worktrees.object_store.merge import EPOCH_DATE, MergeConflict, commit_tree, merge_commits
from worktrees.object_store.tree_overlay import overlay_tree
from worktrees.object_store.trees import read_tree_id, write_blob
from worktrees.repositories.repository import GitRepository

Files = Mapping[str, str | None]
TEXT = "".join(f"line {number}\n" for number in range(40))


async def _tree(git: Git, base: str, files: Files) -> str:
    changes: dict[str, tuple[str, str] | None] = {}
    for path, text in files.items():
        changes[path] = None if text is None else ("100644", await write_blob(git, text.encode()))
    return await overlay_tree(git, base, changes)


async def _sides(git: Git, before: Files, ours: Files, theirs: Files, union: tuple[str, ...] = ()) -> TreeMerge | None:
    """Return git's merge of two changes of the same files; None if they conflict."""
    empty = await git.run_text("mktree", stdin=b"")
    base = await _tree(git, empty, before)
    trees = [base, await _tree(git, base, ours), await _tree(git, base, theirs)]
    root = await commit_tree(git, base, [], "base", EPOCH_DATE)
    tips = [await commit_tree(git, tree, [root], "side", EPOCH_DATE) for tree in trees[1:]]
    merged = await merge_commits(git, *tips, union)
    return None if isinstance(merged, MergeConflict) else TreeMerge(*trees, merged.tree)


@pytest.fixture
def git(repository: GitRepository) -> Git:
    return repository.git


HONEST: Mapping[str, tuple[Files, Files, Files]] = {
    "two files": ({"a": "a\n", "b": "b\n"}, {"a": "A\n"}, {"b": "B\n"}),
    "two places of a file": ({"f": TEXT}, {"f": TEXT.replace("line 3\n", "3\n")}, {"f": TEXT.replace("line 30\n", "")}),
    "the same change of both": ({"f": TEXT}, {"f": TEXT + "end\n"}, {"f": TEXT + "end\n", "new": "x\n"}),
    "a deletion": ({"a": "a\n", "b": "b\n"}, {"a": "A\n"}, {"b": None}),
    "a rename by theirs of what ours changed": (
        {"old": TEXT},
        {"old": TEXT.replace("line 3\n", "3\n")},
        {"old": None, "new": TEXT.replace("line 30\n", "30\n")},
    ),
    "a rename by ours of what theirs changed": (
        {"old": TEXT},
        {"old": None, "new": TEXT.replace("line 3\n", "3\n")},
        {"old": TEXT.replace("line 30\n", "30\n")},
    ),
    "other ends of lines": ({"f": TEXT}, {"f": TEXT + "end\r\n"}, {"f": "begin\n" + TEXT}),
    "no end of the last line": ({"f": TEXT}, {"f": "begin\n" + TEXT}, {"f": TEXT + "end"}),
}


@pytest.mark.parametrize("name", HONEST)
async def test_what_git_merges_without_a_conflict_is_nobody_elses_change(git: Git, name: str) -> None:
    merge = await _sides(git, *HONEST[name])
    assert merge is not None
    assert await find_foreign_changes(git, [merge]) == [()]


async def test_lines_of_both_sides_that_are_kept_by_a_union_merge_are_right(git: Git) -> None:
    merge = await _sides(git, {"log": "a\n"}, {"log": "a\nours\n"}, {"log": "a\ntheirs\n"}, union=("log",))
    assert merge is not None
    assert await find_foreign_changes(git, [merge]) == [()]


async def test_a_file_of_ours_that_is_taken_back_is_found(git: Git) -> None:
    merge = await _sides(git, {"a": "a\n", "b": "b\n"}, {"a": "A\n", "new": "x\n"}, {"b": "B\n"})
    assert merge is not None
    wrong = merge._replace(merged=merge.theirs)
    assert await find_foreign_changes(git, [merge, wrong]) == [(), ("a", "new")]


async def test_lines_of_ours_that_are_taken_back_in_a_file_that_theirs_changed_too_are_found(git: Git) -> None:
    ours, theirs = TEXT.replace("line 3\n", "3\n"), TEXT.replace("line 30\n", "30\n")
    merge = await _sides(git, {"f": TEXT}, {"f": ours}, {"f": theirs})
    assert merge is not None
    assert await find_foreign_changes(git, [merge._replace(merged=merge.theirs)]) == [("f",)]


async def test_lines_that_ours_deleted_and_that_come_back_are_found(git: Git) -> None:
    ours, theirs = TEXT.replace("line 3\n", ""), TEXT.replace("line 30\n", "30\n")
    merge = await _sides(git, {"f": TEXT}, {"f": ours}, {"f": theirs})
    assert merge is not None
    assert await find_foreign_changes(git, [merge._replace(merged=merge.theirs)]) == [("f",)]


async def test_a_change_of_ours_that_a_rename_by_theirs_leaves_behind_is_found(git: Git) -> None:
    _, ours, theirs = HONEST["a rename by theirs of what ours changed"]
    merge = await _sides(git, {"old": TEXT}, ours, theirs)
    assert merge is not None
    assert await find_foreign_changes(git, [merge._replace(merged=merge.theirs)]) == [("old",)]


async def test_a_mode_that_no_side_has_is_found(project: Project, git: Git) -> None:
    merge = await _sides(git, {"f": TEXT}, {"f": "begin\n" + TEXT}, {"f": TEXT + "end\n"})
    assert merge is not None
    blob = project.git("rev-parse", f"{merge.merged}:f")
    wrong = await overlay_tree(git, merge.merged, {"f": ("100755", blob)})
    assert await find_foreign_changes(git, [merge._replace(merged=wrong)]) == [("f",)]


_edits = st.lists(st.tuples(st.integers(0, 11), st.sampled_from(["drop", "change", "add", "move"])), max_size=4)


def _edit(lines: list[str], edits: list[tuple[int, str]], mark: str) -> str:
    made = list(lines)
    for at, kind in edits:
        place = at % (len(made) or 1)
        if kind == "add":
            made.insert(place, f"{mark} {at}\n")
        elif made and kind == "change":
            made[place] = f"{mark} {at} {made[place]}"
        elif made and kind == "move":
            made.append(made.pop(place))
        elif made:
            del made[place]
    return "".join(made)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(["x\n", "y\n", "z\n"]), min_size=6, max_size=12), _edits, _edits)
def test_whatever_git_merges_passes_and_theirs_alone_passes_only_if_nothing_of_ours_is_lost(
    lines: list[str], ours: list[tuple[int, str]], theirs: list[tuple[int, str]]
) -> None:
    async def look() -> None:
        before = "".join(lines)
        left, right = _edit(lines, ours, "ours"), _edit(lines, theirs, "theirs")
        with TemporaryDirectory() as name:
            git = Git(Path(name) / ".git")
            git.git_dir.mkdir()
            git.run_sync("init", "--quiet")
            merge = await _sides(git, {"f": before}, {"f": left}, {"f": right})
            if merge is None:
                return
            assert await find_foreign_changes(git, [merge]) == [()]
            is_lost = any(line.startswith("ours") and line not in right for line in left.splitlines())
            if is_lost:
                assert await find_foreign_changes(git, [merge._replace(merged=merge.theirs)]) == [("f",)]

    anyio.run(look)


async def test_a_merge_that_changed_nothing_has_nothing_of_somebody_else(git: Git) -> None:
    tree = await read_tree_id(git, "HEAD")
    assert await find_foreign_changes(git, [TreeMerge(tree, tree, tree, tree)] * 2) == [(), ()]
