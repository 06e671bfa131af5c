"""State that lies at a remote is replaced only by whoever knows it, all of it or nothing."""

from pathlib import Path

import pytest

from orchestrator.ci.lease import LeaseRecord
from orchestrator.ci.remote_state import RemoteState, StateSuperseded, find_key, get_lease_ref
from orchestrator.domain.ids import RunId, build_journal_ref
from orchestrator.errors import EnvironmentProblem, UsageProblem
from tests.running.projects import calculator, git
from tests.running.remotes import PASSWORD, USER, http_remotes
from worktrees.repositories.repository import GitRepository

RUN = RunId("20261120-101705-7f3a")


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    git(tmp_path, "clone", "-q", "--bare", str(calculator(tmp_path / "repo")), str(tmp_path / "remote.git"))
    return tmp_path / "remote.git"


def machine(remote: Path, name: str) -> RemoteState:
    place = remote.parent / name
    git(remote.parent, "clone", "-q", str(remote), str(place))
    return RemoteState(GitRepository.open(place).git, "origin", "issue-12")


def state(shelf: RemoteState, text: str) -> str:
    """A commit that stands for a run's state."""
    tree = git(shelf.git.git_dir, "rev-parse", "HEAD^{tree}")
    return git(shelf.git.git_dir, "commit-tree", "-m", text, tree)


def tips(remote: Path) -> dict[str, str]:
    lines = git(remote, "for-each-ref", "--format=%(refname) %(objectname)", "refs/orchestrate").splitlines()
    return dict(line.split(" ") for line in lines)


def vanish(remote: Path) -> None:
    remote.rename(remote.with_name("gone"))


def ticket(events: int) -> LeaseRecord:
    return LeaseRecord(key="issue-12", run=RUN, hop=1, events=events)


async def test_the_next_machine_finds_what_the_last_one_left(remote: Path) -> None:
    first = machine(remote, "first")
    assert await first.fetch_lease_record() == LeaseRecord(key="issue-12")
    commit = state(first, "one")
    await first.push_state(ticket(1), commit)
    second = machine(remote, "second")
    assert await second.fetch_lease_record() == ticket(1)
    assert (
        git(second.git.git_dir, "rev-parse", build_journal_ref(RUN)) == commit == tips(remote)[build_journal_ref(RUN)]
    )
    await second.push_state(ticket(2), state(second, "two"))
    assert await machine(remote, "third").fetch_lease_record() == ticket(2)


async def test_what_another_machine_has_left_since_is_not_replaced_not_even_in_part(remote: Path) -> None:
    first, second = machine(remote, "first"), machine(remote, "second")
    await first.fetch_lease_record()
    await first.push_state(ticket(1), state(first, "one"))
    await second.fetch_lease_record()
    await second.push_state(ticket(2), state(second, "two"))
    before = tips(remote)
    for put in (first.push_state(ticket(3), state(first, "three")), first.push_state(ticket(3))):
        with pytest.raises(StateSuperseded, match="is another job's by now"):
            await put
    assert tips(remote) == before


async def test_newer_state_that_a_person_pushed_beside_an_old_ticket_is_not_replaced(remote: Path) -> None:
    first = machine(remote, "first")
    await first.fetch_lease_record()
    await first.push_state(ticket(1), state(first, "one"))
    git(first.git.git_dir, "push", "-q", "origin", f"+{state(first, 'by hand')}:{build_journal_ref(RUN)}")
    before = tips(remote)
    with pytest.raises(StateSuperseded):
        await first.push_state(ticket(2), state(first, "two"))
    assert tips(remote) == before


async def test_of_two_machines_that_begin_at_once_one_gets_the_key(remote: Path) -> None:
    first, second = machine(remote, "first"), machine(remote, "second")
    await first.fetch_lease_record()
    await second.fetch_lease_record()
    await first.push_state(ticket(1))
    with pytest.raises(StateSuperseded):
        await second.push_state(ticket(2))


async def test_a_push_whose_answer_was_lost_is_known_to_have_happened(remote: Path) -> None:
    shelf = machine(remote, "first")
    await shelf.fetch_lease_record()
    unsure = dict(shelf.tips)
    commit = state(shelf, "one")
    await shelf.push_state(ticket(1), commit)
    shelf.tips = unsure
    await shelf.push_state(ticket(1), commit)
    assert shelf.tips == tips(remote)


async def test_what_arrived_although_nobody_could_hear_of_it_is_not_taken_for_another_jobs(remote: Path) -> None:
    shelf = machine(remote, "first")
    await shelf.fetch_lease_record()
    hook = remote / "hooks" / "reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    gone = remote.with_name("gone")
    hook.write_text(f'#!/bin/sh\n[ "$1" != committed ] || {{ mv {remote} {gone}; kill -9 "$PPID"; }}\n')
    hook.chmod(0o755)
    with pytest.raises(EnvironmentProblem, match="cannot be reached"):
        await shelf.push_state(ticket(1), state(shelf, "one"))
    with pytest.raises(EnvironmentProblem, match="cannot be reached"):
        await shelf.push_state(ticket(2), state(shelf, "two"))
    gone.rename(remote)
    hook.unlink()
    assert len(tips(remote)) == 2, "it had arrived"
    await shelf.push_state(ticket(2), commit := state(shelf, "two"))
    assert tips(remote)[build_journal_ref(RUN)] == commit
    assert shelf.tips == tips(remote)


async def test_state_is_pushed_from_objects_that_the_clone_never_holds(remote: Path, tmp_path: Path) -> None:
    shelf = machine(remote, "first")
    await shelf.fetch_lease_record()
    apart = tmp_path / 'a part:"ü'
    git(tmp_path, "init", "-q", "--bare", str(apart))
    tree = git(apart, "mktree", "--missing")
    commit = git(apart, "commit-tree", "-m", "apart", tree)
    await shelf.push_state(ticket(1), commit, apart / "objects")
    assert tips(remote)[build_journal_ref(RUN)] == commit
    assert commit not in git(shelf.git.git_dir, "cat-file", "--batch-check", "--batch-all-objects")


async def test_a_key_is_found_by_the_end_of_its_runs_id(remote: Path) -> None:
    first = machine(remote, "first")
    await first.fetch_lease_record()
    await first.push_state(ticket(1), state(first, "one"))
    second = machine(remote, "second")
    assert await find_key(second.git, "origin", "7f3a") == "issue-12"
    with pytest.raises(
        UsageProblem, match=r"'beef' is carried on by no key \(there are: 20261120-101705-7f3a \(issue-12\)\)"
    ):
        await find_key(second.git, "origin", "beef")


async def test_a_clone_that_has_fetched_the_refs_needs_no_remote(remote: Path) -> None:
    first = machine(remote, "first")
    await first.fetch_lease_record()
    await first.push_state(ticket(1), state(first, "one"))
    second = machine(remote, "second")
    git(second.git.git_dir, "fetch", "-q", "origin", "+refs/orchestrate/*:refs/orchestrate/*")
    vanish(remote)
    second.remote = ""
    assert await second.fetch_lease_record() == ticket(1)
    assert second.tips == {ref: git(second.git.git_dir, "rev-parse", ref) for ref in second.tips}
    assert await find_key(second.git, "", "7f3a") == "issue-12"


@pytest.mark.parametrize("run", ["../../heads/main", "x:refs/heads/main", "-f", ""])
async def test_a_ticket_cannot_lead_to_any_other_ref(remote: Path, run: str) -> None:
    shelf = machine(remote, "first")
    await shelf.fetch_lease_record()
    await shelf.push_state(LeaseRecord.model_construct(**dict(ticket(1)) | {"run": run}))
    with pytest.raises(UsageProblem, match="holds no ticket that this version"):
        await machine(remote, "second").fetch_lease_record()


async def test_a_ticket_that_nobody_understands_is_no_reason_to_begin_anew(remote: Path) -> None:
    shelf = machine(remote, "first")
    git(shelf.git.git_dir, "push", "-q", "origin", f"{state(shelf, 'strange')}:{get_lease_ref('issue-12')}")
    with pytest.raises(UsageProblem, match=r"refs/orchestrate/ci/issue-12 holds no ticket that this version"):
        await shelf.fetch_lease_record()


async def test_a_remote_that_lets_nobody_push_is_told_with_what_to_allow(remote: Path) -> None:
    shelf = machine(remote, "first")
    await shelf.fetch_lease_record()
    git(remote, "config", "http.receivepack", "false")
    with http_remotes(remote.parent) as url:
        git(
            shelf.git.git_dir, "remote", "set-url", "origin", f"{url.replace('//', f'//{USER}:{PASSWORD}@')}/remote.git"
        )
        with pytest.raises(EnvironmentProblem, match=r"permissions: contents: write.*--handover DIR") as told:
            await shelf.push_state(ticket(1), state(shelf, "one"))
    assert PASSWORD not in str(told.value)


async def test_remotes_that_are_unknown_or_gone_are_told_with_what_to_do(remote: Path) -> None:
    shelf = machine(remote, "first")
    with pytest.raises(UsageProblem, match="there is no remote upstream: add it"):
        await RemoteState(shelf.git, "upstream", "k").fetch_lease_record()
    vanish(remote)
    with pytest.raises(EnvironmentProblem, match="make `git ls-remote origin` work"):
        await shelf.fetch_lease_record()
