"""Jobs with one key, each on a clone of its own, in this process: what each takes up and leaves."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.app.run_execution import RunExit, work_on_run
from orchestrator.ci.handover import HANDOVER_FILE, SUMMARY_FILE
from orchestrator.ci.job_outputs import build_job_result
from orchestrator.ci.remote_state import StateSuperseded
from orchestrator.ci_jobs.handover import receive_handover
from orchestrator.ci_jobs.job import CiJob, JobRequest, claim_key, release_key, save_run_state, start_or_resume_run
from orchestrator.config.live_config import build_effective_config
from orchestrator.domain.refs import RunRefs
from orchestrator.domain.run_labels import get_run_labels
from orchestrator.errors import RunLocked, UsageProblem
from orchestrator.journal.state.derivation import read_state
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.project.options import Options
from orchestrator.run_control.control import RunLocation
from tests.running.goals import When, one
from tests.running.projects import GATE_FLAGS, calculator, git, tree_at
from tests.running.scripts import write_script

pytestmark = [pytest.mark.sandbox]

WISH = JobRequest(holder="a job", key="issue-12", goal="make it better", remote="origin", stale_s=60)


@dataclass
class Machines:
    """Fresh clones of one remote, with empty state."""

    root: Path
    model: str

    def options(self, name: str, depth: int = 0, **flags: Any) -> Options:
        place = self.root / name
        if not place.exists():
            depths = [f"--depth={depth}"] * bool(depth)
            git(self.root, "clone", "-q", *depths, self.remote.as_uri(), str(place / "clone"))
        roles = {role: {"model": self.model} for role in ("planner", "worker", "judge")}
        values = {"gate": GATE_FLAGS, "roles": roles, "state": {"dir": str(place / "state")}}
        return Options(place / "clone", values | flags)

    @property
    def remote(self) -> Path:
        return self.root / "remote.git"


@pytest.fixture
def machines(tmp_path: Path) -> Machines:
    git(tmp_path, "clone", "-q", "--bare", str(calculator(tmp_path / "repo")), str(tmp_path / "remote.git"))
    return Machines(tmp_path, write_script(tmp_path / "script.json", one("a")))


def commit(machines: Machines) -> None:
    """Somebody's next commit on the main branch."""
    tree = git(machines.remote, "rev-parse", "main^{tree}")
    made = git(machines.remote, "commit-tree", "-p", "main", "-m", "next", tree)
    git(machines.remote, "update-ref", "refs/heads/main", made)


async def worked(options: Options, wish: JobRequest, when: When | None = None) -> tuple[CiJob, RunLocation, RunExit]:
    """A job up to where its engine has stopped."""
    job = await claim_key(options, wish)
    place, _ = await start_or_resume_run(job)
    return job, place, await work_on_run(place, when)


async def ended(job: CiJob, place: RunLocation, run: RunExit) -> None:
    """What a job does last."""
    await save_run_state(
        job, place, build_job_result(run.state, place.directory.journal, job.lease, job.until_s), "# Summary\n"
    )


async def test_a_run_that_a_job_begins_has_the_labels_and_the_name_of_the_job(
    machines: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("GITLAB_CI", "true"), ("CI_COMMIT_REF_NAME", "docs"), ("CI_MERGE_REQUEST_IID", "7")):
        monkeypatch.setenv(name, value)
    for name in ("GITHUB_ACTIONS", "FORGEJO_ACTIONS", "GITEA_ACTIONS"):
        monkeypatch.delenv(name, raising=False)
    options = machines.options("first", run={"labels": {"team": "web", "ref": "mine"}})
    _, state = await start_or_resume_run(await claim_key(replace(options, run_name="nightly"), WISH))
    assert get_run_labels(state) == {"ci": "gitlab", "ref": "mine", "pr": "7", "team": "web"}
    assert state.run.name == "nightly"


async def test_a_job_ends_what_another_one_began_and_its_own_settings_hold(machines: Machines) -> None:
    options = machines.options("first", run={"max_workers": 1})
    job, place, run = await worked(options, replace(WISH, limit_s=0.001))
    assert (
        run.exit_code,
        build_job_result(run.state, place.directory.journal, job.lease, job.until_s).is_resumable,
    ) == (
        5,
        True,
    )
    await ended(job, place, run)
    later = machines.options("second", run={"max_workers": 3}, notify={"quiet_s": 7.0})
    job, place, run = await worked(later, replace(WISH, goal="", limit_s=600))
    assert (run.exit_code, job.lease.hop) == (0, 2)
    config = build_effective_config(run.state)
    assert (config.run.max_workers, config.notify.quiet_s, config.pr.push) == (3, 7.0, "origin")
    assert config.run.time_limit_s == job.until_s and 600 < (job.until_s or 0) < 700
    await ended(job, place, run)
    assert tree_at(machines.remote, run.state.run.branch) == tree_at(later.repository, run.state.run.branch)
    job, place, run = await worked(machines.options("third"), WISH)
    assert (run.exit_code, run.state.ended is not None, job.lease.is_ended) == (0, True, True)


async def test_a_clone_without_history_gets_what_the_run_rests_on(machines: Machines) -> None:
    job, place, run = await worked(machines.options("first"), replace(WISH, limit_s=0.001))
    await ended(job, place, run)
    commit(machines)
    options = machines.options("second", depth=1)
    assert git(options.repository, "rev-list", "--count", "HEAD") == "1"
    job, place, run = await worked(options, WISH)
    assert run.exit_code == 0
    await ended(job, place, run)
    base = git(machines.remote, "rev-parse", "main~1")
    assert git(machines.remote, "merge-base", "main", run.state.run.branch) == base == run.state.run.base


async def test_while_one_job_works_another_of_its_key_is_refused_and_afterwards_goes_on(machines: Machines) -> None:
    options = machines.options("first")
    job = await claim_key(options, WISH)
    with pytest.raises(RunLocked, match="is being worked on by a job"):
        await claim_key(machines.options("second"), WISH)
    with pytest.raises(RunLocked):
        await claim_key(machines.options("second"), replace(WISH, is_anew=True))
    await release_key(job)
    assert (await claim_key(machines.options("second"), WISH)).lease.hop == 1


async def test_a_job_that_was_thought_dead_does_no_harm_when_it_wakes(machines: Machines) -> None:
    sleeper = await claim_key(machines.options("first"), replace(WISH, stale_s=0))
    place, _ = await start_or_resume_run(sleeper)
    await save_run_state(sleeper, place)
    job, there, run = await worked(machines.options("second"), WISH)
    await ended(job, there, run)
    before = git(machines.remote, "for-each-ref")
    for again in (save_run_state(sleeper, place), release_key(sleeper)):
        with pytest.raises(StateSuperseded):
            await again
    assert git(machines.remote, "for-each-ref") == before


@pytest.mark.extended
async def test_a_machine_that_kept_more_than_its_job_could_leave_goes_on_from_there(machines: Machines) -> None:
    options = machines.options("first")
    job = await claim_key(options, replace(WISH, stale_s=0))
    place, _ = await start_or_resume_run(job)
    await save_run_state(job, place)
    await work_on_run(place)  # and dies before it leaves that
    job, there, run = await worked(options, WISH)
    assert there.directory == place.directory
    assert run.exit_code == 0
    assert sum(one.event.kind == "landing.finished" for one in read_all_events(there.directory.journal)) == 1


async def test_another_goal_under_a_key_is_refused_unless_it_is_to_begin_anew(machines: Machines) -> None:
    job, place, run = await worked(machines.options("first"), WISH)
    await ended(job, place, run)
    other = replace(WISH, goal="make it worse")
    job = await claim_key(machines.options("second"), other)
    with pytest.raises(UsageProblem, match="whose goal is another one"):
        await start_or_resume_run(job)
    await release_key(job)
    job = await claim_key(machines.options("second"), replace(other, is_anew=True))
    there, state = await start_or_resume_run(job)
    assert (state.run.goal, there.directory.run != place.directory.run, job.lease.hop) == ("make it worse", True, 1)


@pytest.mark.extended
async def test_a_job_that_was_to_begin_anew_and_could_not_leaves_the_key_its_run(machines: Machines) -> None:
    job, place, run = await worked(machines.options("first"), replace(WISH, limit_s=0.001))
    await ended(job, place, run)
    before = git(machines.remote, "for-each-ref")
    job = await claim_key(machines.options("second"), replace(WISH, is_anew=True))
    await release_key(job)
    assert git(machines.remote, "for-each-ref") == before
    job, _, run = await worked(machines.options("third"), replace(WISH, goal="", limit_s=600))
    assert (run.state.run.run, run.exit_code) == (place.directory.run, 0)


async def test_a_job_needs_something_to_do(machines: Machines) -> None:
    with pytest.raises(UsageProblem, match="has no run to go on with: say what to begin"):
        await claim_key(machines.options("first"), replace(WISH, goal=""))
    job, place, run = await worked(machines.options("first"), WISH)
    await ended(job, place, run)
    git(machines.remote, "update-ref", "-d", RunRefs(place.directory.run).journal)
    with pytest.raises(UsageProblem, match=r"the state of run .* is gone.*begin anew with --restart"):
        await start_or_resume_run(await claim_key(machines.options("second"), replace(WISH, goal="")))


async def test_a_job_that_reaches_nothing_hands_over_to_one_that_delivers(machines: Machines, tmp_path: Path) -> None:
    directory = tmp_path / "handover"
    directory.mkdir()
    options = machines.options("work", pr={"push": "nowhere"})
    machines.remote.rename(tmp_path / "away")
    job, place, run = await worked(options, replace(WISH, remote="", handover=directory))
    await ended(job, place, run)
    (tmp_path / "away").rename(machines.remote)
    assert (directory / SUMMARY_FILE).read_text() == "# Summary\n"
    assert "refs/orchestrate" not in git(machines.remote, "for-each-ref")
    publish = machines.options("publish")
    delivered = await receive_handover(publish, "origin", directory)
    asked = delivered.handover.pull_requests
    assert [(one.request.head, one.request.commit) for one in asked] == [(run.state.run.branch, run.state.head)]
    assert asked[0].request.body.strip() and "make it better" in asked[0].request.title
    assert (delivered.handover.exit, delivered.state.run.run) == (0, place.directory.run)
    assert git(publish.repository, "rev-parse", run.state.run.branch) == run.state.head
    refs = git(machines.remote, "for-each-ref")
    await receive_handover(machines.options("again"), "origin", directory)
    assert git(machines.remote, "for-each-ref") == refs
    job, _, run = await worked(machines.options("next"), WISH)
    assert (job.lease.hop, run.state.ended is not None) == (2, True)


@pytest.mark.extended
async def test_what_was_handed_over_is_not_delivered_over_another_jobs_state(
    machines: Machines, tmp_path: Path
) -> None:
    directory = tmp_path / "handover"
    directory.mkdir()
    late = await claim_key(machines.options("work"), replace(WISH, remote="", handover=directory))
    place, _ = await start_or_resume_run(late)
    await save_run_state(late, place)
    job, there, run = await worked(machines.options("other"), WISH)
    await ended(job, there, run)
    before = git(machines.remote, "for-each-ref")
    with pytest.raises(StateSuperseded, match="has been carried on by another job meanwhile"):
        await receive_handover(machines.options("publish"), "origin", directory)
    assert git(machines.remote, "for-each-ref") == before
    (directory / HANDOVER_FILE).write_text("{}")
    with pytest.raises(UsageProblem, match=r"handover.json is none that this version"):
        await receive_handover(machines.options("publish"), "origin", directory)


async def test_settings_that_came_with_a_run_are_not_the_next_jobs(machines: Machines) -> None:
    """Who may push to the repository's refs may not run programs as the next job's user."""
    hook = [{"on": "after_landing", "run": "touch /nonexistent/x", "trusted": True}]
    job = await claim_key(machines.options("first", hooks=hook), WISH)
    place, _ = await start_or_resume_run(job)
    await save_run_state(
        job, place, build_job_result(read_state(place.directory.journal), place.directory.journal, job.lease, None)
    )
    job, _, run = await worked(machines.options("second"), WISH)
    assert (run.exit_code, build_effective_config(run.state).hooks) == (0, ())
