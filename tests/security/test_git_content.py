"""What a worker writes into files that git obeys or names that git reads as options: ours obeys none of it."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import ToolRefused
from orchestrator.hands.files import workspace_files
from orchestrator.hands.workspace import LocalWorkspace
from tests.unit.worktrees.conftest import FILES, Project
from worktrees.checkouts.pool import WorktreePool
from worktrees.checkouts.worktree import Worktree
from worktrees.diffs.file_diffs import diff_trees, read_diff_text
from worktrees.errors import GitError
from worktrees.git import Git
from worktrees.object_store.tree_overlay import overlay_tree
from worktrees.object_store.trees import write_blob
from worktrees.repositories.repository import GitRepository
from worktrees.snapshots.snapshot import snapshot_worktree


@pytest.mark.attack(28)
async def test_what_attributes_ask_to_be_expanded_stays_as_it_was_written(
    worktree: Worktree, pool: WorktreePool, project: Project
) -> None:
    raw = {"stamp.txt": b"$Format:%H$\r\n", "ident.txt": b"$Id$\n", "wide.txt": "ä\n".encode("utf-16")}
    attributes = "stamp.txt export-subst eol=crlf text\nident.txt ident\nwide.txt -text\n"
    Project(worktree.root).write({**raw, ".gitattributes": attributes})

    taken = await snapshot_worktree(worktree, "work", None)
    await worktree.restore_tree(taken.tree)
    shown = await read_diff_text(worktree.git, worktree.commit, taken.commit)

    assert "+$Format:%H$" in shown
    assert project.show(f"{taken.tree}:wide.txt") == raw["wide.txt"]
    words = ["sh", "-c", f"git archive {taken.commit} stamp.txt | tar -xO"]
    archived = subprocess.run(words, cwd=project.root, capture_output=True, check=True).stdout  # noqa: ASYNC221
    assert taken.commit.encode() in archived  # the control: git does expand it where it is asked for an archive


@pytest.mark.attack(29)
async def test_no_program_that_an_address_names_is_ever_run(
    project: Project, repository: GitRepository, tmp_path: Path
) -> None:
    marker = tmp_path / "marker"
    address = f"ext::touch {marker}"
    project.git("-c", "protocol.ext.allow=always", "ls-remote", address, ok=False)
    assert marker.exists()
    marker.unlink()
    listed = f'[submodule "lib"]\n\tpath = lib\n\turl = "{address}"\n\tupdate = !touch {marker}\n'
    blob = await write_blob(repository.git, listed.encode())
    link = ("160000", repository.read_head_commit())
    tree = await overlay_tree(repository.git, project.tree(), {".gitmodules": ("100644", blob), "lib": link})
    project.git("read-tree", "-u", "--reset", tree)

    for git in (repository.checkout_git, repository.git, repository.git.build_remote_git()):
        for words in (
            ("submodule", "update", "--init", "--recursive", "--remote"),
            ("ls-remote", address),
            ("fetch", f"--upload-pack=touch {marker}", str(project.root)),
            ("clone", "--recurse-submodules", address, str(tmp_path / "clone")),
        ):
            if git.is_user and words[0] == "fetch":
                continue  # the user's own remotes may be anywhere; no option of ours comes from a worker
            with pytest.raises(GitError):
                await git.run(*words)

    assert not marker.exists()


@pytest.mark.attack(31)
async def test_no_name_is_taken_for_an_option_or_a_pattern(
    worktree: Worktree, project: Project, repository: GitRepository
) -> None:
    evil = ["--output=marker", "-rf", ":(glob)**", ":!README.md", "--no-index", "-h"]
    for name in evil:
        (worktree.root / name).write_text("x\n")
    Project(worktree.root).git("diff", "--no-index", "README.md", *evil[:1], ok=False)
    assert (worktree.root / "marker").exists()  # the control: a name without `--` before it was an option
    (worktree.root / "marker").unlink()

    taken = await snapshot_worktree(worktree, "work", "refs/orchestrate/test")
    hits = [await worktree.search_text("x", name, 5) for name in evil if not name.startswith(":")]
    changed = await diff_trees(repository.git, worktree.commit, taken.commit)
    await worktree.restore_tree(taken.tree)

    assert sorted(set(project.files(taken.tree)) - set(FILES)) == sorted(evil) == sorted(changed.paths)
    assert hits == [(f"{name}:1:x",) for name in evil if not name.startswith(":")]
    assert not list(worktree.root.rglob("marker")) + list(project.root.rglob("marker"))


PATHS = ["../evil", "pkg/../../evil", ".git/hooks/pre-commit", ".GIT/config", "git~1/config", ".git /config"]


@pytest.mark.sandbox
@pytest.mark.attack(32)
@pytest.mark.parametrize("path", [*PATHS, "{outside}/evil"])
async def test_a_change_to_a_path_outside_or_in_git_is_refused_before_anything_is_written(
    workspace: LocalWorkspace, yard: Any, tmp_path: Path, path: str
) -> None:
    path = path.format(outside=tmp_path)
    (tmp_path / "control" / "tree" / "pkg").mkdir(parents=True)
    naive = tmp_path / "control" / "tree" / path
    naive.parent.mkdir(parents=True, exist_ok=True)
    naive.write_text("evil")  # the control: a naive join of root and path does write there
    assert naive.exists()
    naive.unlink()
    before = {file for folder in (tmp_path, yard.repo) for file in folder.rglob("*")}

    with pytest.raises(ToolRefused):
        await workspace.write_file(path, b"evil")
    git = Git(yard.repo / ".git")
    blob = await write_blob(git, b"evil")
    with pytest.raises(GitError, match="cannot be put into a tree"):
        await overlay_tree(git, yard.git("rev-parse", "HEAD^{tree}"), {path: ("100644", blob)})

    objects = yard.repo / ".git" / "objects"
    after = {file for folder in (tmp_path, yard.repo) for file in folder.rglob("*")}
    assert not [file for file in after - before if not file.is_relative_to(objects)]


@pytest.mark.attack(19)
@pytest.mark.parametrize("name", ["null", "zero", "full"])
def test_a_device_is_refused_by_the_file_tools_at_once(name: str) -> None:

    with Path("/dev", name).open("rb") as control:
        assert control.fileno() > 0
    for attempt in (
        lambda: workspace_files.read_file(Path("/dev"), name, 10),
        lambda: workspace_files.write_file(Path("/dev"), name, b"x"),
    ):
        with pytest.raises(ToolRefused, match=r"device|regular"):
            attempt()
