"""Git inside a workspace: it works, and nothing of it counts outside."""

from pathlib import Path
from typing import Any

import pytest

from orchestrator.hands.workspace import LocalWorkspace

pytestmark = pytest.mark.sandbox


async def test_status_diff_log_commit_stash_and_branch_work(shell: Any, yard: Any) -> None:
    script = """
        set -e
        git status --short
        echo two >> README.md; git diff --stat | tail -1
        git commit --quiet --all --message Work; git log --format=%s
        echo three >> README.md; git stash --quiet; git stash list | wc -l; git stash pop --quiet
        git checkout --quiet -b topic; git branch --show-current
        git worktree list | wc -l; git rev-parse --show-toplevel
    """
    ran = await shell(script)
    assert ran.exit_code == 0, ran.output
    assert ran.output.splitlines() == [
        " 1 file changed, 1 insertion(+)", "Work", "Start", "1", "topic", "1", str(yard.repo),
    ]  # fmt: skip
    assert yard.git("log", "--all", "--format=%s") == "Start"


async def test_the_state_of_git_lasts_from_command_to_command(shell: Any) -> None:
    await shell("echo x > new && git add new && git commit --quiet -m One")
    assert (await shell("git log --format=%s; git status --short")).output == "One\nStart\n"


async def test_head_is_detached_at_the_base_commit_and_tags_are_known(yard: Any, shell_in: Any) -> None:
    yard.git("tag", "--annotate", "--message", "First", "v1.0")
    head = yard.git("rev-parse", "HEAD")
    async with yard.hands() as hands:
        workspace = await hands.open(head, "test")
        ran = await shell_in(workspace, "git rev-parse HEAD; git branch --show-current; git describe; git branch")
    assert ran.output.splitlines() == [head, "v1.0", "* (no branch)"]


async def test_only_objects_of_the_repository_are_visible(shell: Any, yard: Any) -> None:
    yard.git("remote", "add", "origin", "https://user:secret@example.invalid/x.git")
    ran = await shell(
        f"ls {yard.repo}/.git; ls -A /run; ls /run/objects | grep -c '^..$'; git remote; grep -rs secret /run"
    )
    objects = sum(1 for p in (yard.repo / ".git" / "objects").iterdir() if len(p.name) == 2)
    assert ran.output.splitlines() == [f"{yard.repo}/.git", "git", "objects", str(objects)]


async def test_a_fresh_workspace_is_clean(shell: Any) -> None:
    ran = await shell("git status --short; git diff-files --name-only | wc -l; git diff-index --cached HEAD | wc -l")
    assert ran.output.split() == ["0", "0"]


async def test_what_the_repository_excludes_is_excluded_inside(yard: Any, shell_in: Any) -> None:
    (yard.repo / ".git" / "info" / "exclude").write_text("*.tmp\n")
    async with yard.hands() as hands:
        workspace = await hands.open(yard.git("rev-parse", "HEAD"), "test")
        ran = await shell_in(workspace, "touch a.tmp b; git status --short")
    assert ran.output == "?? b\n"


async def test_restoring_the_workspace_resets_git_inside(shell: Any, workspace: LocalWorkspace, yard: Any) -> None:
    await shell("echo x > new && git add new && git commit --quiet -m One")
    await workspace.restore(yard.git("rev-parse", "HEAD^{tree}"))
    assert (await shell("git log --format=%s; git status --short; ls")).output == "Start\nREADME.md\npkg\n"


async def test_a_repository_that_borrows_objects_works_inside(yard: Any, tmp_path: Path, shell_in: Any) -> None:
    clone = tmp_path / "src" / "clone"
    yard.git("clone", "--quiet", "--shared", str(yard.repo), str(clone))
    borrowing = type(yard)(clone, yard.home, yard.state)
    borrowing.commit({"more": "x"})
    async with borrowing.hands() as hands:
        workspace = await hands.open(borrowing.git("rev-parse", "HEAD"), "test")
        ran = await shell_in(workspace, "git log --format=%s && git show HEAD~1:README.md")
    assert ran.output == "More\nStart\nhello\n"
