"""Snapshots of any kind of hands: all that was done, in the repository of this machine, and by the same ids."""

import hashlib
import random
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from orchestrator.domain.ids import CommitId, TreeId
from orchestrator.domain.purpose import Purpose
from orchestrator.errors import EnvironmentProblem
from orchestrator.ports.hands import Hands, ShellCommand, Workspace
from tests.conformance.kinds import HandsOptions, open_local_kind
from tests.unit.hands.conftest import Yard
from worktrees.errors import SnapshotTooLarge

pytestmark = [pytest.mark.conformance, pytest.mark.sandbox]

REF = "refs/orchestrate/test/1"

ODD = r"""
printf 'a\r\nb\r\n' > crlf.txt; printf end > no-newline; : > empty; printf '\0\377\1' > binary
echo x > 'a b'; echo x > -dash; echo x > 'ä'; echo x > "$(printf 'odd\377')"; echo x > "$(printf 'tab\there')"
mkdir -p d/e; echo x > d/e/f; mkdir empty-dir; chmod 755 README.md; chmod 600 pkg/money.py
ln -s pkg/money.py link; ln -s nowhere dangling; ln -s d/e folder-link; echo x > run.sh; chmod 700 run.sh
mv tests/test_x.py tests/moved.py; rm tests/data/golden.json; echo x > tests/data.txt; echo ignored > x.log
"""
"""Files with odd names, modes and kinds."""


@pytest.fixture(scope="module")
async def local(yard: Yard, hands: Hands) -> AsyncIterator[Hands]:
    """Hands of this machine, which every kind is held against; closed before `hands`, which were opened before."""
    state = yard.state / "local"
    state.mkdir()
    async with open_local_kind(replace(yard, state=state), HandsOptions()) as opened:
        yield opened.hands


async def test_a_snapshot_is_a_commit_in_this_machine_s_repository_with_its_ref(
    workspace: Workspace, run: Any, yard: Yard, head: CommitId
) -> None:
    await run("echo two > README.md; echo new > new; echo out > x.log; git add new; git commit -qm inside")
    await workspace.write_file("by-tool", b"tool\n")
    taken = await workspace.take_snapshot("Candidate\n\nBody", REF)
    assert (taken.dropped, taken.flagged) == ((), ())
    assert yard.git("rev-parse", REF, f"{taken.commit}^", f"{taken.commit}^{{tree}}").split() == [
        taken.commit,
        head,
        taken.tree,
    ]
    assert yard.git("show", "--no-patch", "--format=%B", taken.commit) == "Candidate\n\nBody"
    changed = yard.git("diff", "--name-status", head, taken.commit).split()
    assert changed == ["M", "README.md", "A", "by-tool", "A", "new"]
    assert yard.git("show", f"{REF}:README.md") == "two"
    assert yard.git("fsck", "--no-dangling", "--strict", taken.commit) == ""


async def test_odd_files_are_in_it_as_they_are(workspace: Workspace, run: Any, yard: Yard) -> None:
    assert (await run(ODD)).output == ""
    taken = await workspace.take_snapshot("Odd", REF)
    assert len(taken.dropped) == 1, "the name that would break lines"
    found = yard.git("ls-tree", "-r", taken.tree)
    assert {line.split("\t")[1]: line[:6] for line in found.splitlines()} == {
        "-dash": "100644",
        ".gitignore": "100644",
        "README.md": "100755",
        "a b": "100644",
        "binary": "100644",
        "crlf.txt": "100644",
        "d/e/f": "100644",
        "dangling": "120000",
        "empty": "100644",
        "folder-link": "120000",
        "link": "120000",
        "no-newline": "100644",
        "pkg/__init__.py": "100644",
        "pkg/money.py": "100644",
        "run.sh": "100755",
        "tests/data.txt": "100644",
        "tests/moved.py": "100644",
        '"\\303\\244"': "100644",
        '"odd\\377"': "100644",
    }
    assert yard.git("cat-file", "-s", f"{taken.tree}:crlf.txt") == "6"
    assert yard.git("cat-file", "-s", f"{taken.tree}:binary") == "3"
    assert yard.git("show", f"{taken.tree}:link") == "pkg/money.py"


async def test_the_same_work_gives_the_same_snapshot_as_on_this_machine(
    workspace: Workspace, local: Hands, head: CommitId, run_in: Any
) -> None:
    """With what is left out of it, and what a reviewer should look at, in the same words."""
    more = "mkfifo pipe; mkdir __pycache__; touch conftest.py sitecustomize.py __pycache__/a.pyc; truncate -s 60M large"
    beside = await local.open_workspace(head, Purpose("control"))
    taken = []
    for one in (workspace, beside):
        await run_in(one, ODD + more)
        taken.append(await one.take_snapshot("Same", REF))
    await beside.close()
    assert taken[0] == taken[1]
    assert len(taken[0].dropped) > 1
    assert len(taken[0].flagged) > 1


@pytest.mark.extended
async def test_a_thousand_files_are_in_it(workspace: Workspace, run: Any, yard: Yard) -> None:
    line = "for at in range(1000): print(at, file=open(f'n/{at % 40}/{at}', 'w'))"
    assert (await run(f'mkdir -p n/{{0..39}}; python3 -c "{line}"')).exit_code == 0
    taken = await workspace.take_snapshot("Many", REF)
    assert len(yard.git("ls-tree", "-r", "--name-only", taken.tree, "n/").splitlines()) == 1000
    assert yard.git("show", f"{taken.tree}:n/1/1") == "1"


@pytest.mark.extended
async def test_a_file_of_thirty_megabytes_is_in_it_and_reaches_the_next_workspace(
    workspace: Workspace, hands: Hands, run: Any, run_in: Any, yard: Yard
) -> None:
    size = 30 * 1024**2
    line = f"import random; random.seed(5); open('large', 'wb').write(random.randbytes({size}))"
    assert (await run(f'python3 -c "{line}"')).exit_code == 0
    taken = await workspace.take_snapshot("Large", REF)
    digest = hashlib.sha256(random.Random(5).randbytes(size)).hexdigest()
    assert int(yard.git("cat-file", "-s", f"{taken.tree}:large")) == size
    following = await hands.open_workspace(taken.commit, Purpose("next"))
    assert (await run_in(following, "sha256sum large")).output.split()[0] == digest
    await following.close()


async def test_snapshots_follow_one_another(workspace: Workspace, run: Any, yard: Yard, head: CommitId) -> None:
    await run("echo 1 > note")
    first = await workspace.take_snapshot("One", "refs/orchestrate/test/1")
    same = await workspace.take_snapshot("Two", "refs/orchestrate/test/2")
    assert (same.tree, same.commit != first.commit) == (first.tree, True)
    on_top = await workspace.take_snapshot("Three", "refs/orchestrate/test/3", first.commit)
    assert yard.git("rev-parse", f"{on_top.commit}^", f"{same.commit}^").split() == [first.commit, head]
    await run("echo 2 > note")
    last = await workspace.take_snapshot("Four", "refs/orchestrate/test/4", on_top.commit)
    await workspace.write_file("note", b"3\n")
    written = await workspace.take_snapshot("Five", "refs/orchestrate/test/5", last.commit)
    assert yard.git("log", "--format=%s", written.commit) == "Five\nFour\nThree\nOne\nStart"
    assert [yard.git("show", f"refs/orchestrate/test/{number}:note") for number in range(1, 6)] == [
        "1",
        "1",
        "1",
        "2",
        "3",
    ]


async def test_without_a_change_there_is_a_commit_with_the_tree_of_its_parent(
    workspace: Workspace, yard: Yard, head: CommitId
) -> None:
    taken = await workspace.take_snapshot("Nothing", REF)
    assert yard.git("rev-parse", f"{head}^{{tree}}", f"{taken.commit}^").split() == [taken.tree, head]


async def test_a_parent_may_be_a_commit_that_was_made_elsewhere(
    workspace: Workspace, yard: Yard, head: CommitId
) -> None:
    tree = yard.git("rev-parse", f"{head}^{{tree}}")
    parent = CommitId(yard.git("commit-tree", tree, "-p", head, "-m", "Elsewhere"))
    await workspace.write_file("new", b"x")
    taken = await workspace.take_snapshot("On top", REF, parent)
    assert yard.git("log", "--format=%s", taken.commit) == "On top\nElsewhere\nStart"


async def test_a_ref_that_exists_is_moved(workspace: Workspace, yard: Yard) -> None:
    for content in (b"one", b"two"):
        await workspace.write_file("new", content)
        taken = await workspace.take_snapshot("Moved", REF)
        assert yard.git("rev-parse", REF) == taken.commit


async def test_more_than_a_snapshot_may_hold_is_refused_and_takes_nothing(
    workspace: Workspace, run: Any, yard: Yard
) -> None:
    before = yard.git("for-each-ref")
    await run("for i in $(seq 21); do truncate -s 49M f$i; done")
    with pytest.raises(EnvironmentProblem) as refused:
        await workspace.take_snapshot("Huge", "refs/orchestrate/test/huge")
    assert isinstance(refused.value.__cause__, SnapshotTooLarge)
    assert "changed files, of which a snapshot may have 1024" in str(refused.value.__cause__)
    assert yard.git("for-each-ref") == before
    await run("rm f*")
    assert (await workspace.take_snapshot("Less", REF)).dropped == ()


async def test_a_tree_that_was_made_elsewhere_is_restored(workspace: Workspace, run: Any, yard: Yard) -> None:
    made = yard.commit({"elsewhere/deep.txt": "elsewhere\n"}, "Elsewhere")
    tree = TreeId(yard.git("rev-parse", f"{made}^{{tree}}"))
    await run("echo x > untracked; echo y > README.md; mkdir build; echo kept > build/out; rm -r pkg")
    await workspace.restore_tree(tree)
    assert (await run("cat elsewhere/deep.txt README.md build/out; ls")).output == (
        "elsewhere\nhello\nkept\nREADME.md\nbuild\nelsewhere\npkg\ntests\n"
    )
    assert (await workspace.take_snapshot("Restored", REF)).tree == tree
    await workspace.restore_tree(tree, keeps_ignored=False)
    assert (await run("ls")).output == "README.md\nelsewhere\npkg\ntests\n"


async def test_an_earlier_snapshot_of_its_own_or_of_another_workspace_is_restored(
    workspace: Workspace, hands: Hands, head: CommitId, run: Any, run_in: Any
) -> None:
    await run("echo one > note")
    first = await workspace.take_snapshot("One", REF)
    await run("echo two > note; touch more")
    await workspace.restore_tree(first.tree)
    assert (await run("cat note; ls")).output == "one\nREADME.md\nnote\npkg\ntests\n"
    other = await hands.open_workspace(head, Purpose("other"))
    await other.restore_tree(first.tree)
    assert (await run_in(other, "cat note; ls")).output == "one\nREADME.md\nnote\npkg\ntests\n"
    await other.close()


async def test_a_tree_that_does_not_exist_is_an_environment_problem(workspace: Workspace, run: Any) -> None:
    with pytest.raises(EnvironmentProblem):
        await workspace.restore_tree(TreeId("0123456789abcdef0123456789abcdef01234567"))
    assert (await run("cat README.md")).output == "hello\n"


@pytest.mark.parametrize("changes", ["write", "command", "restore"])
async def test_the_tree_of_a_snapshot_counts_until_something_is_changed(
    workspace: Workspace, run: Any, changes: str
) -> None:
    assert await workspace.get_unchanged_tree() is None
    await workspace.write_file("note", b"1\n")
    await workspace.take_snapshot("First", REF)
    taken = await workspace.take_snapshot("Second", REF)
    assert await workspace.get_unchanged_tree() == taken.tree
    assert await workspace.read_file("note") == b"1\n"
    assert await workspace.get_unchanged_tree() == taken.tree
    if changes == "write":
        await workspace.write_file("note", b"2\n")
    elif changes == "restore":
        await workspace.restore_tree(taken.tree)
    else:
        await run("echo 2 > note")
    assert await workspace.get_unchanged_tree() is None


async def test_commands_that_write_nothing_leave_a_followed_snapshot_valid(workspace: Workspace, run: Any) -> None:
    taken = await workspace.take_snapshot("First", REF, is_followed=True)
    for line in ("true", "cat README.md; ls -R; git status", "echo x > /tmp/x"):
        await run(line)
        assert await workspace.get_unchanged_tree() == taken.tree, line
    again = await workspace.take_snapshot("Again", "refs/orchestrate/test/2")
    assert again.tree == taken.tree
    await run("printf J | dd of=README.md conv=notrunc status=none")
    assert await workspace.get_unchanged_tree() is None
    assert (await workspace.take_snapshot("Changed", REF)).tree != taken.tree


async def test_a_running_command_may_have_written(workspace: Workspace, run: Any) -> None:
    await workspace.write_file("note", b"1\n")
    for _ in range(2):
        await workspace.take_snapshot("Note", REF)
    await workspace.start_command("call", ShellCommand(line="sleep 99"))
    assert await workspace.get_unchanged_tree() is None
    await workspace.kill_command("call")


async def test_a_snapshot_while_a_command_runs_counts_for_nothing_later(workspace: Workspace, yard: Yard) -> None:
    line = "echo 1 > note; until test -e go; do sleep 0.01; done; echo 2 > note; rm go"
    await workspace.start_command("call", ShellCommand(line=line))
    while "note" not in await workspace.list_paths("note"):
        assert await workspace.wait_for_result("call", 0.02) is None
    early = await workspace.take_snapshot("Early", REF)
    await workspace.write_file("go", b"")
    while await workspace.wait_for_result("call") is None:
        pass
    late = await workspace.take_snapshot("Late", "refs/orchestrate/test/2")
    assert (yard.git("show", f"{early.tree}:note"), yard.git("show", f"{late.tree}:note")) == ("1", "2")
