"""Programs that the user's configuration hangs on file contents: plain git runs them, ours never does."""

import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.unit.worktrees.conftest import Project
from worktrees.checkouts.pool import WorktreePool
from worktrees.diffs.file_diffs import diff_trees, read_diff_stat, read_diff_text
from worktrees.errors import GitError
from worktrees.object_store.merge import EPOCH_DATE, MergeConflict, MergedTree, commit_tree, merge_commits
from worktrees.object_store.tree_overlay import overlay_tree
from worktrees.object_store.trees import read_tree_id, write_blob
from worktrees.ref_store.refs import set_ref
from worktrees.repositories.repository import GitRepository
from worktrees.snapshots.snapshot import snapshot_worktree

COMMITTER = {"GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a"}
HOOKS = ("post-checkout", "post-index-change", "reference-transaction", "pre-commit", "commit-msg", "post-commit")


@dataclass(frozen=True)
class Trap:
    """A project in which every way git knows to run a program writes a line into `marks`."""

    project: Project
    marks: Path

    def sprung(self) -> set[str]:
        """The traps that have run since last asked."""
        found = set(self.marks.read_text().split()) if self.marks.exists() else set()
        self.marks.unlink(missing_ok=True)
        return found


def write_settings(project: Project, settings: Mapping[str, str]) -> None:
    """Append to the configuration file: much faster than one process for each setting."""
    lines = []
    for key, value in settings.items():
        section, _, rest = key.partition(".")
        name, _, variable = rest.rpartition(".")
        heading = f'{section} "{name}"' if name else section
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        lines.append(f'[{heading}]\n\t{variable} = "{escaped}"\n')
    with (project.root / ".git" / "config").open("a") as config:
        config.writelines(lines)


@pytest.fixture
def trap(project: Project, tmp_path: Path) -> Trap:
    marks = tmp_path / "marks"
    project.commit({".gitattributes": "*.py filter=evil diff=evil merge=evil\n*.big filter=a.b=c\n", "x.big": "big\n"})

    def mark(name: str, then: str) -> str:
        return f"sh -c 'echo {name} >> {marks}; {then}' --"

    settings = {
        "filter.evil.clean": mark("clean", "cat"),
        "filter.evil.smudge": mark("smudge", "cat"),
        "filter.evil.required": "true",
        "filter.a.b=c.process": mark("process", "exit 1"),
        "diff.evil.textconv": mark("textconv", 'cat "$1"'),
        "diff.evil.command": mark("command", "true"),
        "diff.external": mark("external", "true"),
        "merge.evil.driver": mark("driver", "true"),
        "core.fsmonitor": mark("fsmonitor", "true"),
        "core.pager": mark("pager", "cat"),
        "core.editor": mark("editor", "true"),
        "core.sshCommand": mark("ssh", "exit 1"),
        "credential.helper": mark("credential", "true"),
        "gpg.program": str(tmp_path / "hooks" / "gpg"),
        "commit.gpgSign": "true",
        "core.hooksPath": str(tmp_path / "hooks"),
    }
    (tmp_path / "hooks").mkdir()
    for hook in (*HOOKS, "gpg"):
        script = tmp_path / "hooks" / hook
        script.write_text(f"#!/bin/sh\necho {hook} >> {marks}\n")
        script.chmod(0o755)
    write_settings(project, settings)
    marks.unlink(missing_ok=True)
    return Trap(project, marks)


@pytest.mark.attack(28)
def test_plain_git_does_run_every_one_of_them(trap: Trap, tmp_path: Path) -> None:
    git = trap.project.git
    trap.project.write({"x.big": "bigger\n"})
    git("add", "x.big", ok=False)
    assert "process" in trap.sprung()
    git("config", "--remove-section", "filter.a.b=c")
    git("worktree", "add", "-q", "-b", "topic", str(tmp_path / "plain"))
    topic = Project(tmp_path / "plain")
    for project, text in ((topic, "topic\n"), (trap.project, "main\n")):
        project.write({"src/app.py": text, "x.big": text, "README.md": text})
        project.git("commit", "-q", "-am", "change", ok=False)
        project.git("-c", "commit.gpgSign=false", "commit", "-q", "-am", "change")
        project.git("diff", "HEAD~1", ok=False)
        project.git("blame", "src/app.py")
    git("merge", "--no-edit", "topic", ok=False)
    git("fetch", "ssh://example.invalid/x", ok=False)
    git("-c", "core.editor=sh -c 'exit 1'", "-p", "log", ok=False)

    assert trap.sprung() >= {
        *("clean", "smudge", "textconv", "command", "external", "driver", "fsmonitor", "gpg", "ssh"),
        *HOOKS,
    }
    assert trap.sprung() == set()


@pytest.mark.attack(28)
async def test_a_workers_whole_way_runs_none_of_them(trap: Trap, tmp_path: Path) -> None:
    repository = GitRepository.open(trap.project.root)
    base = repository.read_head_commit()
    repository.list_dirty_paths(), repository.list_checked_out_branches()
    pool = WorktreePool(repository, tmp_path / "pool")

    worktree = await pool.lease_worktree(base)
    (worktree.root / "src" / "app.py").write_text("work\n")
    (worktree.root / "new.py").write_text("new\n")
    (worktree.root / "x.big").write_text("bigger\n")
    made = await snapshot_worktree(worktree, "work", "refs/orchestrate/work")
    await worktree.search_text("work", "**", 10)
    await worktree.list_paths()
    await worktree.restore_tree(await read_tree_id(worktree.git, base))
    await worktree.restore_tree(made.tree)
    await pool.release_worktree(worktree)
    await pool.release_worktree(await pool.lease_worktree(made.commit))
    await diff_trees(repository.git, base, made.commit)
    await read_diff_text(repository.git, base, made.commit)
    await read_diff_stat(repository.git, base, made.commit)

    assert trap.sprung() == set()
    assert trap.project.show(f"{made.commit}:src/app.py") == b"work\n"
    assert trap.project.show(f"{made.commit}:x.big") == b"bigger\n"


@pytest.mark.parametrize(
    "command",
    [
        ("diff", "HEAD"),
        ("diff-files", "-p"),
        ("diff-index", "-p", "HEAD"),
        ("log", "-p", "-1", "--show-signature"),
        ("show", "HEAD"),
        ("status",),
        ("add", "-A"),
        ("commit", "-q", "-am", "x"),
        ("stash",),
        ("checkout", "-f", "HEAD"),
        ("reset", "--hard"),
        ("grep", "app"),
        ("archive", "HEAD"),
        ("blame", "src/app.py"),
        ("cat-file", "--textconv", "HEAD:src/app.py"),
        ("fetch", "ssh://example.invalid/x"),
        ("merge", "topic"),
    ],
    ids=" ".join,
)
async def test_no_verb_of_git_runs_them_through_our_runner(trap: Trap, command: tuple[str, ...]) -> None:
    git = GitRepository.open(trap.project.root).checkout_git
    base = await git.run_text("rev-parse", "HEAD")
    changed = {"src/app.py": ("100644", await write_blob(git, b"topic\n"))}
    topic = await commit_tree(
        git, await overlay_tree(git, await read_tree_id(git, base), changed), [base], "topic", EPOCH_DATE
    )
    await set_ref(git, "refs/heads/topic", topic)
    trap.project.write({"src/app.py": "changed\n", "x.big": "bigger\n"})
    identity = {
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@b",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a",
    }
    if command[0] == "merge":
        await git.run("commit", "-q", "-am", "ours", env=identity)

    with suppress(GitError):  # some verbs fail without their programs, which is well
        await git.run(*command, env=identity)

    assert trap.sprung() == set()


@pytest.mark.parametrize("command", ["diff HEAD", "diff-index -p HEAD", "diff-files -p", "log -p -1", "show HEAD"])
@pytest.mark.attack(28)
async def test_diffs_show_the_real_content_in_spite_of_drivers(trap: Trap, command: str) -> None:
    trap.project.write({"src/app.py": "print('changed')\n"})
    git = GitRepository.open(trap.project.root).checkout_git
    await git.run("commit", "-q", "-am", "x", env={"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a", **COMMITTER})
    trap.project.write({"src/app.py": "print('again')\n"})

    shown = await git.run_text(*command.split())

    assert "+print('" in shown
    assert trap.sprung() == set()


async def test_a_merge_attribute_with_a_driver_of_the_users_falls_back_to_gits_own_merge(trap: Trap) -> None:
    git = GitRepository.open(trap.project.root).git
    base = await git.run_text("rev-parse", "HEAD")

    async def variant(**files: str) -> str:
        blobs = {f"src/{name}.py": ("100644", await write_blob(git, text.encode())) for name, text in files.items()}
        tree = await overlay_tree(git, await read_tree_id(git, base), blobs)
        return await commit_tree(git, tree, [base], "variant", EPOCH_DATE)

    lines = "".join(f"{number}\n" for number in range(20))
    base = await variant(m=lines)
    ours, theirs = await variant(m="ours\n" + lines), await variant(m=lines + "theirs\n")

    merged = await merge_commits(git, ours, theirs)
    clash = await merge_commits(git, ours, await variant(m="others\n" + lines))

    assert isinstance(merged, MergedTree)
    assert trap.project.show(f"{merged.tree}:src/m.py").decode() == f"ours\n{lines}theirs\n"
    assert isinstance(clash, MergeConflict)
    assert clash.paths == ("src/m.py",)
    assert trap.sprung() == set()


async def test_moving_a_ref_runs_no_hook(trap: Trap) -> None:
    git = GitRepository.open(trap.project.root).git

    await set_ref(git, "refs/heads/landing", await git.run_text("rev-parse", "HEAD"))

    assert trap.sprung() == set()


async def test_a_driver_that_the_user_adds_during_a_run_is_off_from_the_next_lease_on(
    project: Project, pool: WorktreePool, tmp_path: Path
) -> None:
    marker = tmp_path / "marker"
    base = project.commit({".gitattributes": "*.py filter=late\n"})
    await pool.release_worktree(await pool.lease_worktree(base))
    project.git("config", "filter.late.clean", f"touch {marker}; cat")

    worktree = await pool.lease_worktree(base)
    (worktree.root / "src" / "app.py").write_text("work\n")
    await snapshot_worktree(worktree, "work", None)

    assert not marker.is_file()


def test_drivers_with_strange_names_are_all_found(project: Project) -> None:
    for name in ("plain", "with space", "dotted.name", "equal=sign", 'quo"ted', "line\\nbreak"):
        subprocess.run(["git", "config", f"filter.{name}.clean", "false"], cwd=project.root, check=True)

    overrides = dict(GitRepository.open(project.root).git.overrides)

    assert {key for key in overrides if key.endswith(".clean")} == {
        f"filter.{name}.clean"
        for name in ("plain", "with space", "dotted.name", "equal=sign", 'quo"ted', "line\\nbreak")
    }
    assert {value for key, value in overrides.items() if not key.endswith(".required")} == {""}
