"""Merges without a worktree: exact conflicts, attributes of the tree, ids that depend on nothing else."""

from pathlib import Path

import pytest

from tests.unit.worktrees.conftest import Project
from worktrees.errors import GitError
from worktrees.git import Git
from worktrees.object_store.conflict_merge import write_merge
from worktrees.object_store.merge import EPOCH_DATE, MergeConflict, MergedTree, commit_tree, merge_commits
from worktrees.object_store.tree_overlay import overlay_tree
from worktrees.object_store.trees import list_tree, read_entry_contents, read_tree_id, write_blob
from worktrees.repositories.repository import GitRepository

LINES = [f"line {number}" for number in range(20)]


@pytest.fixture
def git(repository: GitRepository) -> Git:
    return repository.git


async def variant(git: Git, base: str, files: dict[str, str | None]) -> str:
    """A commit on top of `base` with files replaced or, by None, deleted."""
    changes = {
        path: None if text is None else ("100644", await write_blob(git, text.encode())) for path, text in files.items()
    }
    return await commit_tree(
        git, await overlay_tree(git, await read_tree_id(git, base), changes), [base], "variant", EPOCH_DATE
    )


def text(**replaced: str) -> str:
    return "".join(f"{replaced.get(f'l{number}', line)}\n" for number, line in enumerate(LINES))


async def test_commits_of_a_bare_repository_with_a_worktree_are_merged(project: Project, tmp_path: Path) -> None:
    bare = Project(tmp_path / "bare.git")
    project.git("clone", "-q", "--bare", ".", str(bare.root))
    bare.git("worktree", "add", "-q", str(tmp_path / "checkout"), "main")
    git = GitRepository.open(tmp_path / "checkout").git
    base = await variant(git, "HEAD", {"f.txt": text()})
    ours, theirs = [await variant(git, base, {"f.txt": text(**one)}) for one in ({"l0": "ours"}, {"l19": "theirs"})]
    assert isinstance(await merge_commits(git, ours, theirs), MergedTree)


async def test_changes_in_different_places_are_merged(project: Project, git: Git) -> None:
    base = await variant(git, "HEAD", {"f.txt": text()})
    ours = await variant(git, base, {"f.txt": text(l0="ours"), "src/app.py": None})
    theirs = await variant(git, base, {"f.txt": text(l19="theirs"), "new": "x"})

    merged = await merge_commits(git, ours, theirs)

    assert isinstance(merged, MergedTree)
    assert project.show(f"{merged.tree}:f.txt").decode() == text(l0="ours", l19="theirs")
    assert "src/app.py" not in project.files(merged.tree)
    assert "new" in project.files(merged.tree)


async def test_what_is_contained_already_merges_to_the_newer_tree(git: Git) -> None:
    newer = await variant(git, "HEAD", {"new": "x"})

    assert await merge_commits(git, newer, "HEAD") == MergedTree(await read_tree_id(git, newer))
    assert await merge_commits(git, "HEAD", newer) == MergedTree(await read_tree_id(git, newer))


async def test_conflicts_name_exactly_the_paths_in_conflict(git: Git) -> None:
    names = {"a b.txt": text(), "näme\n.txt": text(), "gone.txt": text(), "fine.txt": text()}
    base = await variant(git, "HEAD", {**names})
    ours = await variant(
        git, base, {"a b.txt": text(l5="o"), "näme\n.txt": text(l5="o"), "gone.txt": None, "fine.txt": text(l1="o")}
    )
    theirs = await variant(
        git,
        base,
        {"a b.txt": text(l5="t"), "näme\n.txt": text(l5="t"), "gone.txt": text(l5="t"), "fine.txt": text(l9="t")},
    )

    clash = await merge_commits(git, ours, theirs)

    assert isinstance(clash, MergeConflict)
    assert clash.paths == ("a b.txt", "gone.txt", "näme\n.txt")
    assert len(clash.messages) == 3
    assert all(message.startswith("CONFLICT") for message in clash.messages)


async def test_a_file_against_a_directory_and_two_new_files_of_one_name_are_conflicts(git: Git) -> None:
    ours = await variant(git, "HEAD", {"new": "ours\n", "place": "a file\n"})
    theirs = await variant(git, "HEAD", {"new": "theirs\n", "place/inner": "x\n"})

    clash = await merge_commits(git, ours, theirs)

    assert isinstance(clash, MergeConflict)
    assert "new" in clash.paths
    assert any(path.startswith("place") for path in clash.paths)


async def test_a_rename_on_one_side_follows_the_change_on_the_other(project: Project, git: Git) -> None:
    base = await variant(git, "HEAD", {"old.txt": text()})
    ours = await variant(git, base, {"old.txt": None, "moved/new.txt": text()})
    theirs = await variant(git, base, {"old.txt": text(l3="theirs")})

    merged = await merge_commits(git, ours, theirs)

    assert isinstance(merged, MergedTree)
    assert project.show(f"{merged.tree}:moved/new.txt").decode() == text(l3="theirs")


@pytest.mark.parametrize(("attribute", "is_merged"), [("merge=union", True), ("merge=binary", False), ("", False)])
async def test_the_merge_attributes_of_the_tree_are_honoured(
    project: Project, git: Git, attribute: str, is_merged: bool
) -> None:
    base = await variant(git, "HEAD", {".gitattributes": f"CHANGES {attribute}\n", "CHANGES": "# Changes\n"})
    ours = await variant(git, base, {"CHANGES": "# Changes\n- ours\n"})
    theirs = await variant(git, base, {"CHANGES": "# Changes\n- theirs\n"})

    outcome = await merge_commits(git, ours, theirs)

    assert isinstance(outcome, MergedTree) == is_merged
    if isinstance(outcome, MergedTree):
        assert project.show(f"{outcome.tree}:CHANGES") == b"# Changes\n- ours\n- theirs\n"


async def test_a_merge_does_not_depend_on_the_users_settings(project: Project, git: Git) -> None:
    base = await variant(git, "HEAD", {"dir/a": text(), "dir/b": text(l1="b")})
    ours = await variant(git, base, {"dir/a": None, "dir/b": None, "moved/a": text(), "moved/b": text(l1="b")})
    theirs = await variant(git, base, {"dir/c": "c\n", "dir/a": text(l9="t")})
    plain = await merge_commits(git, ours, theirs)
    for key, value in (
        ("merge.directoryRenames", "true"),
        ("merge.renames", "false"),
        ("merge.conflictStyle", "diff3"),
    ):
        project.git("config", key, value)

    assert await merge_commits(git, ours, theirs) == plain


async def test_unrelated_histories_and_missing_commits_are_errors(git: Git) -> None:
    alone = await commit_tree(git, await read_tree_id(git, "HEAD"), [], "alone", EPOCH_DATE)

    with pytest.raises(GitError, match=r"git merge-tree … failed .*unrelated"):
        await merge_commits(git, "HEAD", alone)
    with pytest.raises(GitError, match="is no commit"):
        await merge_commits(git, "HEAD", "0" * 39 + "1")


async def test_merging_touches_neither_checkout_nor_branches(project: Project, git: Git) -> None:
    before = project.fingerprint()
    ours = await variant(git, "HEAD", {"README.md": "ours\n"})
    theirs = await variant(git, "HEAD", {"README.md": "theirs\n"})
    await merge_commits(git, ours, theirs)

    assert project.fingerprint() == before
    assert not list((project.root / ".git").glob(".merge_file_*"))


async def test_a_commit_depends_only_on_what_is_given(project: Project, git: Git) -> None:
    tree, parents = await read_tree_id(git, "HEAD"), [project.git("rev-parse", "HEAD")] * 2
    project.git("config", "user.name", "Somebody")
    project.git("config", "i18n.commitEncoding", "ISO-8859-1")

    first = await commit_tree(git, tree, parents[:1], "Subject\n\nBody ünï\n", "2026-01-02T03:04:05Z")
    second = await commit_tree(git, tree, parents[:1], "Subject\n\nBody ünï\n", "2026-01-02T03:04:05+00:00")

    assert first == second
    assert project.git("cat-file", "commit", first).splitlines() == [
        f"tree {tree}",
        f"parent {parents[0]}",
        "author Orchestrate <orchestrate@localhost> 1767323045 +0000",
        "committer Orchestrate <orchestrate@localhost> 1767323045 +0000",
        "",
        "Subject",
        "",
        "Body ünï",
    ]


@pytest.mark.parametrize("message", ["", "\n", "-m", "nul\0inside", "lone \udce9 surrogate", "# not a comment"])
async def test_any_message_can_be_committed(project: Project, git: Git, message: str) -> None:
    commit = await commit_tree(git, await read_tree_id(git, "HEAD"), [], message, EPOCH_DATE)

    expected = message.replace("\0", "").encode("utf-8", "replace").rstrip(b"\n")
    assert project.git("cat-file", "commit", commit).encode().partition(b"\n\n")[2] == expected


async def test_what_is_no_date_is_refused(git: Git) -> None:
    with pytest.raises(GitError, match="'soon' is no ISO 8601 date"):
        await commit_tree(git, await read_tree_id(git, "HEAD"), [], "x", "soon")


async def test_a_merge_that_is_written_down_names_both_sides_and_what_was_before(git: Git) -> None:
    base = await variant(git, "HEAD", {"f.txt": text(), "list": "a\n", "gone.txt": text()})
    left = await variant(git, base, {"f.txt": text(l5="ours", l0="fine"), "list": "a\nours\n", "gone.txt": None})
    ours = await variant(git, left, {"later.txt": "later\n"})
    theirs = await variant(git, base, {"f.txt": text(l5="theirs"), "list": "a\ntheirs\n", "gone.txt": text(l1="kept")})
    merged = await write_merge(git, base, ours, theirs, ("list",))
    assert merged.conflicts == ("f.txt", "gone.txt")
    files = {entry.path: entry for entry in await list_tree(git, merged.tree)}
    contents = {path: data.decode() for path, data in (await read_entry_contents(git, [*files.values()])).items()}
    marked = "<<<<<<< what landed meanwhile\nours\n||||||| as it was before both\nline 5\n=======\ntheirs\n"
    assert f"{marked}>>>>>>> what this task changed\n" in contents["f.txt"]
    assert contents["f.txt"].startswith("fine\n")
    assert (contents["list"], contents["later.txt"]) == ("a\nours\ntheirs\n", "later\n")
    assert "kept" in contents["gone.txt"]


async def test_a_merge_that_is_written_down_brings_nothing_but_the_change_itself(git: Git) -> None:
    left_behind = await variant(git, "HEAD", {"behind.txt": "of a line that was left\n"})
    theirs = await variant(git, left_behind, {"own.txt": "own\n"})
    merged = await write_merge(git, left_behind, await read_head(git), theirs)
    assert merged.conflicts == ()
    assert {"own.txt"} == await names(git, merged.tree) - await names(git, "HEAD")
    assert merged == await write_merge(git, left_behind, await read_head(git), theirs), "the same every time"


async def names(git: Git, treeish: str) -> set[str]:
    return {entry.path for entry in await list_tree(git, treeish)}


async def read_head(git: Git) -> str:
    return await git.run_text("rev-parse", "HEAD")
