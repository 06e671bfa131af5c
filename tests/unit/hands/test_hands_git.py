"""Git inside a workspace: it works, and nothing of it counts outside."""

from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.purpose import Purpose
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


async def test_a_branch_is_checked_out_at_the_base_commit_and_tags_are_known(yard: Any, shell_in: Any) -> None:
    yard.git("tag", "--annotate", "--message", "First", "v1.0")
    head = yard.git("rev-parse", "HEAD")
    async with yard.hands() as hands:
        workspace = await hands.open_workspace(head, Purpose("test"))
        ran = await shell_in(workspace, "git rev-parse HEAD; git branch --show-current; git describe; git branch")
        branch = workspace.world.branch
    assert ran.output.splitlines() == [head, branch, "v1.0", f"* {branch}"]


async def test_only_objects_of_the_repository_are_visible(shell: Any, workspace: Any, yard: Any) -> None:
    yard.git("remote", "add", "origin", "https://user:secret@example.invalid/x.git")
    there = workspace.world.objects
    ran = await shell(
        f"ls {there} | grep -c '^..$'; git remote; grep -rs secret {yard.repo}/.git {there}/..; ls {there}/.."
    )
    objects = sum(1 for p in (yard.repo / ".git" / "objects").iterdir() if len(p.name) == 2)
    assert ran.output.splitlines() == [str(objects), "objects"]


async def test_git_inside_looks_like_that_of_an_ordinary_clone(shell: Any, workspace: Any) -> None:
    ran = await shell("test -d .git && git reflog --format=%gs; git config user.name; git rev-parse --git-dir")
    assert ran.output.splitlines() == ["clone: from origin", workspace.world.user, ".git"]


async def test_a_fresh_workspace_is_clean(shell: Any) -> None:
    ran = await shell("git status --short; git diff-files --name-only | wc -l; git diff-index --cached HEAD | wc -l")
    assert ran.output.split() == ["0", "0"]


async def test_what_the_repository_excludes_is_excluded_inside(yard: Any, shell_in: Any) -> None:
    (yard.repo / ".git" / "info" / "exclude").write_text("*.tmp\n")
    async with yard.hands() as hands:
        workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
        ran = await shell_in(workspace, "touch a.tmp b; git status --short")
    assert ran.output == "?? b\n"


async def test_restoring_the_workspace_resets_git_inside(shell: Any, workspace: LocalWorkspace, yard: Any) -> None:
    await shell("echo x > new && git add new && git commit --quiet -m One")
    await workspace.restore_tree(yard.git("rev-parse", "HEAD^{tree}"))
    assert (await shell("git log --format=%s; git status --short; ls")).output == "Start\nREADME.md\npkg\n"


def borrowing(yard: Any, *options: str) -> Any:
    """A clone that has its objects in the yard's repository, with a commit and a tag of its own."""
    clone = yard.repo.parent / "clone"
    yard.git("tag", "--annotate", "--message", "First", "v1.0")
    yard.git("clone", "--quiet", *options, str(yard.repo), str(clone))
    made = type(yard)(clone, yard.home, yard.state, yard.backend)
    made.commit({"more": "x"})
    return made


EVERYDAY = """
    git log --format=%s && git show HEAD~1:README.md && git describe && git status --short
    echo two >> README.md && git diff --stat | tail -1 && git blame --porcelain README.md | grep -c '^summary'
    git commit --quiet --all --message Work && git fsck --connectivity-only && git log --all --oneline | wc -l
"""


@pytest.mark.conformance
@pytest.mark.parametrize("options", [("--shared",), ("--no-local", "--reference", "{repo}")])
async def test_a_repository_that_borrows_objects_works_inside(yard: Any, shell_in: Any, options: Any) -> None:
    clone = borrowing(yard, *(option.format(repo=yard.repo) for option in options))
    assert (clone.repo / ".git" / "objects" / "info" / "alternates").exists()
    async with clone.hands() as hands:
        workspace = await hands.open_workspace(clone.git("rev-parse", "HEAD"), Purpose("test"))
        ran = await shell_in(workspace, EVERYDAY)
        sources = [mount.source for mount in workspace.mounts]
    described, *rest = ran.output.splitlines()[3:]
    assert ran.output.splitlines()[:3] == ["More", "Start", "hello"], ran.output
    assert described.startswith("v1.0-1-g")
    assert rest == [" 1 file changed, 1 insertion(+)", "2", "3"]
    assert not [source for source in sources if Path(source).is_relative_to(yard.repo)]


async def test_what_a_borrowing_repository_gets_later_is_seen_as_well(yard: Any, shell_in: Any) -> None:
    clone = borrowing(yard, "--shared")
    packs = yard.state / "borrowed" / "objects" / "pack"
    async with clone.hands() as hands:
        await (await hands.open_workspace(clone.git("rev-parse", "HEAD"), Purpose("test"))).close()
        first = set(packs.iterdir())
        await (await hands.open_workspace(clone.git("rev-parse", "HEAD"), Purpose("test"))).close()
        assert set(packs.iterdir()) == first
        yard.commit({"later.txt": "later\n"}, "Later")
        clone.git("pull", "--quiet", "--no-rebase", "--no-edit")
        workspace = await hands.open_workspace(clone.git("rev-parse", "HEAD"), Purpose("test"))
        assert (
            await shell_in(workspace, "git show HEAD:later.txt; git log --format=%s | wc -l")
        ).output == "later\n4\n"
        yard.commit({"README.md": "unseen\n"}, "Unseen")
        await workspace.restore_tree(yard.git("rev-parse", "HEAD^{tree}"))
        assert "+unseen\n" in (await shell_in(workspace, "git diff --cached")).output
    async with clone.hands() as hands:
        known = set(packs.iterdir())
        workspace = await hands.open_workspace(clone.git("rev-parse", "HEAD"), Purpose("test"))
        assert (await shell_in(workspace, "git show HEAD:later.txt")).output == "later\n"
        assert set(packs.iterdir()) == known


async def test_of_a_repository_with_objects_of_its_own_nothing_is_copied(shell: Any, yard: Any) -> None:
    assert (await shell("git log --format=%s")).output == "Start\n"
    assert not (yard.state / "borrowed").exists()


async def test_the_packs_of_a_copy_are_put_together_when_they_are_many(
    yard: Any, shell_in: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worktrees.repositories.alternates_copy._MOST_PACKS", 2)
    clone = borrowing(yard, "--shared")
    packs = yard.state / "borrowed" / "objects" / "pack"
    async with clone.hands() as hands:
        for number in range(3):
            workspace = await hands.open_workspace(clone.commit({"more": str(number)}), Purpose("test"))
            ran = await shell_in(workspace, "git fsck --connectivity-only && git log --format=%s | wc -l")
            assert ran.output == f"{number + 3}\n"
            assert len(list(packs.glob("*.pack"))) <= 2
