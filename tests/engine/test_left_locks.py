"""What a dead process or a power cut left on refs of a run stands in no resume's way; what lives is left alone."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Timer

import pytest

from orchestrator.app.run_execution import RunExit
from orchestrator.doctor.checks import check_requirements
from orchestrator.doctor.finding import DoctorFinding
from orchestrator.domain.event.work import CandidateTaking
from orchestrator.errors import RepositoryLocked
from orchestrator.journal.journal import Journal, SystemClock
from orchestrator.retention.garbage_collection import CollectionRequest, collect_garbage
from tests.running.cli import environment, orchestrate
from tests.running.goals import TWO, Bench
from tests.running.projects import git, refs
from worktrees.locks import git_lock_files

pytestmark = [pytest.mark.sandbox, pytest.mark.usefixtures("short_watch")]


@pytest.fixture
async def stopped(bench: Bench) -> RunExit:
    """A run of two tasks that stopped when the first had landed."""
    ended = await bench.run(*TWO, budget={"calls": 5})
    assert (ended.exit_code, len(ended.state.landings)) == (5, 1)
    return ended


def own_refs(ended: RunExit) -> tuple[str, ...]:
    """The fence, a candidate and the PR branch."""
    own = f"refs/orchestrate/{ended.state.run.run}"
    return f"{own}/epoch", f"{own}/tasks/a/1", f"refs/heads/{ended.state.run.branch}"


def refusal(repository: Path, ref: str) -> str:
    """What git says when it is to move a ref, as it is."""
    words = ["git", "update-ref", ref, "HEAD"]
    return subprocess.run(words, cwd=repository, capture_output=True, text=True, check=False).stderr


def locks(repository: Path) -> list[Path]:
    return list((repository / ".git" / "refs").rglob("*.lock"))


async def finish(bench: Bench) -> RunExit:
    ended = await bench.resume(*TWO, budget={"calls": 50})
    assert (ended.exit_code, len(ended.state.landed_units)) == (0, 2), ended.error
    return ended


@pytest.mark.attack(55)
async def test_locks_that_a_dead_process_left_on_refs_of_the_run_are_removed(bench: Bench, stopped: RunExit) -> None:
    for ref in own_refs(stopped):
        (bench.repository / ".git" / f"{ref}.lock").touch()
        assert ".lock': File exists" in refusal(bench.repository, ref)
    await finish(bench)
    assert locks(bench.repository) == []


@contextmanager
def transaction(repository: Path, ref: str, leave: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A git of the user's that has locked a ref, and does what `leave` says in the end."""
    words = ["git", "update-ref", "--stdin"]
    with subprocess.Popen(words, cwd=repository, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
        assert process.stdin
        assert process.stdout
        asked = f"start\nverify {ref} {git(repository, 'rev-parse', ref)}\nprepare\n"
        process.stdin.write(asked.encode())
        assert process.stdout.read(len("start: ok\n")) == b"start: ok\n"
        assert process.stdout.read(len("prepare: ok\n")) == b"prepare: ok\n"
        try:
            yield process
        finally:
            with suppress(BrokenPipeError):
                process.stdin.write(f"{leave}\n".encode())


@pytest.mark.attack(55)
async def test_a_lock_that_a_living_git_holds_is_named_and_stays(
    bench: Bench, stopped: RunExit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_lock_files, "_PATIENCE_S", 1.5)
    ref = own_refs(stopped)[0]
    lock = bench.repository / ".git" / f"{ref}.lock"
    with transaction(bench.repository, ref, "abort") as holder:
        with pytest.raises(RepositoryLocked) as named:
            await bench.resume(*TWO, budget={"calls": 50})
        assert lock.exists()
    assert f"{lock} is locked, probably by process {holder.pid} (git update-ref" in str(named.value)
    assert named.value.exit_code == 8
    await finish(bench)


@pytest.mark.slow
async def test_the_reason_stands_in_the_journal_and_a_command_leaves_with_its_exit_code(
    bench: Bench, stopped: RunExit, tmp_path: Path
) -> None:
    ref, where = own_refs(stopped)[0], ("--repo", bench.repository, "--state", bench.root / "state")
    env = environment(tmp_path)
    with transaction(bench.repository, ref, "abort"):
        done = orchestrate("resume", "--budget-usd", "9", *where, "--json", cwd=tmp_path, env=env)
    assert (done.code, done.json["exit"]) == (8, 8)
    assert f"{ref}.lock is locked, probably by process" in done.json["reason"]


@pytest.mark.extended
async def test_a_resume_waits_for_a_git_that_is_just_at_work(bench: Bench, stopped: RunExit) -> None:
    ref = own_refs(stopped)[0]
    with transaction(bench.repository, ref, "abort") as process:
        Timer(2.0, process.terminate).start()
        ended = await bench.resume(*TWO, budget={"calls": 50})
    assert ended.exit_code == 0, ended.error
    assert not any("locked" in notice.text for notice in ended.state.notices)


@pytest.mark.attack(55)
@pytest.mark.parametrize("left", [b"", b"\0" * 41])
async def test_refs_of_the_run_that_lost_their_content_are_put_back(
    bench: Bench, stopped: RunExit, left: bytes
) -> None:
    before = refs(bench.repository)
    fence, candidate, branch = own_refs(stopped)
    for ref in (fence, candidate, branch):
        (bench.repository / ".git" / ref).write_bytes(left)
        assert "reference broken" in refusal(bench.repository, ref)
    ended = await finish(bench)
    after = refs(bench.repository)
    assert after[candidate] == before[candidate]
    assert after[fence] != before[fence]
    assert git(bench.repository, "rev-list", "--first-parent", "--count", f"{before[branch]}..{after[branch]}") == "1"
    assert sum("it was put back at" in notice.text for notice in ended.state.notices) == 3


async def test_a_branch_that_lost_its_content_after_the_run_had_ended_is_put_back(
    bench: Bench, stopped: RunExit
) -> None:
    await finish(bench)
    before, branch = refs(bench.repository), own_refs(stopped)[2]
    (bench.repository / ".git" / branch).write_bytes(b"")
    ended = await finish(bench)
    assert refs(bench.repository)[branch] == before[branch]
    assert ended.state.ended and ended.state.ended.outcome == "done"


async def test_the_ref_of_a_candidate_that_is_gone_is_put_back(bench: Bench, stopped: RunExit) -> None:
    before, (_, candidate, _) = refs(bench.repository), own_refs(stopped)
    git(bench.repository, "update-ref", "-d", candidate)
    await finish(bench)
    assert refs(bench.repository)[candidate] == before[candidate]


@pytest.mark.attack(55)
async def test_an_object_without_content_does_not_pass_for_one_that_is_written(bench: Bench, stopped: RunExit) -> None:
    text = bench.root / "text"
    text.write_text("what is to be written again\n")
    oid = git(bench.repository, "hash-object", str(text))
    file = bench.repository / ".git" / "objects" / oid[:2] / oid[2:]
    file.parent.mkdir(exist_ok=True)
    file.touch()
    git(bench.repository, "hash-object", "-w", str(text))
    assert file.stat().st_size == 0, "git takes it for the object and writes nothing"
    journal = Journal(stopped.directory.path, SystemClock())
    await journal.append(CandidateTaking(key="candidate/b@1~0", number=1))
    journal.close()
    await finish(bench)
    assert git(bench.repository, "hash-object", "-w", str(text)) == oid
    assert git(bench.repository, "cat-file", "-p", oid) == text.read_text().strip()
    assert git(bench.repository, "fsck", "--full", "--no-dangling") == ""


async def findings(bench: Bench) -> dict[str, DoctorFinding]:
    return {found.name: found async for found in check_requirements(bench.options(TWO))}


async def test_doctor_and_gc_name_locks_of_others_with_the_way_on_and_gc_removes_ours(
    bench: Bench, stopped: RunExit
) -> None:
    ours, others = (bench.repository / ".git" / f"{name}.lock" for name in (own_refs(stopped)[1], "packed-refs"))
    assert (await findings(bench))["git locks"].is_ok
    for lock in (ours, others):
        lock.touch()
    found = (await findings(bench))["git locks"]
    assert not found.is_ok
    assert f"remove it (rm -- {others})" in found.detail
    assert f"{ours} was left by a process that died: the next resume or gc removes it" in found.detail
    gone = await collect_garbage(bench.options(TWO), CollectionRequest())
    assert gone.locks == (own_refs(stopped)[1],)
    assert [f"remove it (rm -- {others})" in text for text in gone.locked] == [True]
    assert [lock.exists() for lock in (ours, others)] == [False, True]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may remove every file")
async def test_a_lock_that_may_not_be_removed_is_named(bench: Bench, stopped: RunExit) -> None:
    lock = bench.repository / ".git" / f"{own_refs(stopped)[0]}.lock"
    lock.touch()
    lock.parent.chmod(0o555)
    try:
        with pytest.raises(RepositoryLocked, match="cannot be removed"):
            await bench.resume(*TWO, budget={"calls": 50})
    finally:
        lock.parent.chmod(0o755)
