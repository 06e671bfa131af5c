"""The job that may write: what it does with what another job left, and what it refuses to do."""

import json
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from orchestrator.app.run_execution import work_on_run
from orchestrator.ci.handover import ARCHIVE_FILE, HANDOVER_FILE
from orchestrator.ci.job_outputs import build_job_result
from orchestrator.ci_jobs.handover import import_run_of_key, select_waiting_item
from orchestrator.ci_jobs.job import JobRequest as Job
from orchestrator.ci_jobs.job import claim_key, save_run_state, start_or_resume_run
from orchestrator.ci_jobs.publish import PublishRequest, publish_run
from orchestrator.domain.commands.definitions import Approve
from orchestrator.errors import EnvironmentProblem, PersonNeeded, UsageProblem
from orchestrator.forge.markers import build_marker
from orchestrator.journal.storage.event_store import write_journal_file
from orchestrator.project.options import Options
from orchestrator.run_control.control import send_command
from tests.running.forge import ALL_RIGHTS, TOKEN, FakeForge, fake_forge
from tests.running.goals import one
from tests.running.moving import rewrite
from tests.running.projects import GATE_FLAGS, calculator, git
from tests.running.scripts import write_script

pytestmark = [pytest.mark.sandbox]


@dataclass
class Yard:
    """A remote, a forge that hosts it, and fresh clones for the jobs."""

    place: Path
    forge: FakeForge
    jobs: int = 0

    @property
    def remote(self) -> Path:
        return self.place / "remote.git"

    @property
    def handover(self) -> Path:
        return self.place / "handover"

    def options(self, **flags: Any) -> Options:
        """A job's clone, with what was fetched into it, and its own state."""
        self.jobs += 1
        home = self.place / f"job{self.jobs}"
        git(self.place, "clone", "-q", str(self.remote), str(home / "clone"))
        git(home / "clone", "fetch", "-q", "origin", "+refs/orchestrate/*:refs/orchestrate/*")
        return Options(home / "clone", {"state": {"dir": str(home / "state")}} | flags)

    async def worked(self, **flags: Any) -> str:
        """The job with the model's key; the branch on which something landed."""
        model = {"model": write_script(self.place / "script.json", one("a"))}
        roles = {"planner": model, "worker": model, "judge": model}
        options = self.options(gate=GATE_FLAGS, roles=roles, **flags)
        job = await claim_key(
            options, Job(holder="a job", key="issue-1", goal="make it better", handover=self.handover)
        )
        place, _ = await start_or_resume_run(job)
        ended = await work_on_run(place)
        end = build_job_result(ended.state, place.directory.journal, job.lease, job.until_s)
        await save_run_state(job, place, end, "# Summary\n")
        return ended.state.run.branch

    def publishing(self) -> Options:
        """The job with the right to write."""
        return self.options(pr={key: value for key, value in self.forge.settings.items() if key != "push"})

    def change(self, act: Callable[[dict[str, Any]], None]) -> None:
        """Somebody changes what the first job left."""
        file = self.handover / HANDOVER_FILE
        told = json.loads(file.read_text())
        act(told)
        file.write_text(json.dumps(told))

    def take_over(self, opened: dict[str, str]) -> None:
        """The first job was taken over: in all that it left, its pull request is this one."""

        def forged(members: dict[str, bytes], _: dict[str, Any]) -> None:
            file = self.place / "forged.db"
            file.write_bytes(members["journal.db"])
            write_journal_file(self.place / "fresh.db", [_forged(row, opened) for row in _rows(file)])
            members["journal.db"] = (self.place / "fresh.db").read_bytes()

        rewrite(self.handover / ARCHIVE_FILE, self.handover / ARCHIVE_FILE, forged)
        request = {"head": opened["branch"], "commit": opened["head"]}
        self.change(lambda told: told["pull_requests"][0]["request"].update(request))

    def branches(self) -> list[str]:
        return git(self.remote, "for-each-ref", "--format=%(refname:short)", "refs/heads").splitlines()


def _rows(journal: Path) -> list[Any]:
    connection = sqlite3.connect(journal)
    connection.text_factory = bytes
    rows = connection.execute("SELECT seq, at, kind, v, task, session, key, body FROM event ORDER BY seq").fetchall()
    connection.close()
    return rows


def _forged(row: Any, opened: dict[str, str]) -> Any:
    return (*row[:7], json.dumps(json.loads(row[7]) | opened).encode()) if row[2] == b"pr.opened" else row


@pytest.fixture
def yard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Yard]:
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    git(tmp_path, "clone", "-q", "--bare", str(calculator(tmp_path / "repo")), str(tmp_path / "remote.git"))
    (tmp_path / "handover").mkdir()
    with fake_forge(tmp_path / "remote.git") as forge:
        yield Yard(tmp_path, forge)


async def test_what_landed_is_proposed_and_told_once_however_often_it_is_published(yard: Yard) -> None:
    branch = await yard.worked()
    first = await publish_run(yard.publishing(), PublishRequest(yard.handover, issue=1))
    assert (first.exit_code, first.end.status, yard.branches()) == (0, "done", ["main", branch])
    assert json.loads(first.build_outputs()["prs"]) == [f"{yard.forge.url}/octo/demo/pull/1"]
    run = first.build_outputs()["run_id"]
    ((_, comment),) = yard.forge.hosted.comments.values()
    assert comment["body"].startswith(f"{build_marker(run, 'status')}\n**done**")
    refs, writes = git(yard.remote, "for-each-ref"), list(yard.forge.writes)
    again = await publish_run(yard.publishing(), PublishRequest(yard.handover, issue=1))
    assert (again.build_outputs(), again.pull_requests) == (first.build_outputs(), first.pull_requests)
    assert (git(yard.remote, "for-each-ref"), yard.forge.writes) == (refs, writes)


@pytest.mark.parametrize(
    "lie",
    [{"head": "main"}, {"head": "orchestrate/other"}, {"run": "20261120-101705-7f3a"}, {"commit": "main"}],
    ids=lambda lie: next(iter(lie)) + "-" + next(iter(lie.values())),
)
async def test_nothing_is_pushed_that_the_run_has_not_landed_on_its_own_branch(yard: Yard, lie: dict[str, str]) -> None:
    await yard.worked()
    if lie == {"commit": "main"}:
        lie = {"commit": git(yard.remote, "rev-parse", "main")}
    yard.change(lambda told: told["pull_requests"][0]["request"].update(lie))
    with pytest.raises(UsageProblem, match=r"is not published: run .* has nothing landed there"):
        await publish_run(yard.publishing(), PublishRequest(yard.handover))
    assert yard.branches() == ["main"]
    assert yard.forge.writes == []


@pytest.mark.parametrize("how", ["delete", "force", "forward", "elsewhere"])
async def test_no_journal_that_was_forged_moves_or_removes_a_branch_of_somebody_else(yard: Yard, how: str) -> None:
    own = await yard.worked()
    theirs = _branch_with_a_commit(yard, "orchestrate/theirs")
    main = git(yard.remote, "rev-parse", "main")
    lies = {
        "delete": {"branch": theirs, "head": ""},
        "force": {"branch": theirs, "head": f"+{main}"},
        "forward": {"branch": theirs, "head": _commit_on(yard, theirs)},
        "elsewhere": {"branch": f"{own}--x:refs/heads/main", "head": main},
    }
    before = git(yard.remote, "for-each-ref", "refs/heads")
    yard.take_over(lies[how])
    with pytest.raises(UsageProblem, match=r"is not published: run .* has nothing landed there"):
        await publish_run(yard.publishing(), PublishRequest(yard.handover))
    assert git(yard.remote, "for-each-ref", "refs/heads") == before
    assert yard.forge.writes == []


async def test_a_branch_that_is_somebody_elses_is_left_alone_and_the_issue_is_told(yard: Yard) -> None:
    branch = await yard.worked()
    yard.forge.hosted.create(
        {"title": "t", "head": _branch_with_a_commit(yard, "theirs"), "base": "main", "body": "number 1"}
    )
    theirs = _branch_with_a_commit(yard, branch)
    with pytest.raises(PersonNeeded, match="Nothing is ever forced"):
        await publish_run(yard.publishing(), PublishRequest(yard.handover, issue=1))
    assert git(yard.remote, "log", "-1", "--format=%s", theirs) == "by somebody"
    ((_, comment),) = yard.forge.hosted.comments.values()
    assert "**It could not be published:**" in comment["body"]


def _branch_with_a_commit(yard: Yard, name: str) -> str:
    git(yard.remote, "update-ref", f"refs/heads/{name}", _commit_on(yard, "main"))
    return name


def _commit_on(yard: Yard, branch: str) -> str:
    return git(yard.remote, "commit-tree", "-p", branch, "-m", "by somebody", "main^{tree}")


async def test_what_went_wrong_is_told_although_the_issue_cannot_be(yard: Yard) -> None:
    _branch_with_a_commit(yard, await yard.worked())
    yard.forge.tokens = {TOKEN: {**ALL_RIGHTS, "pull_requests": "none"}}
    with pytest.raises(PersonNeeded, match="Nothing is ever forced"):
        await publish_run(yard.publishing(), PublishRequest(yard.handover, issue=1))


async def test_without_a_forge_the_state_is_kept_and_a_person_is_told_what_to_set(yard: Yard) -> None:
    await yard.worked()
    with pytest.raises(UsageProblem, match="ORCHESTRATE__PR__FORGE=github"):
        await publish_run(yard.options(), PublishRequest(yard.handover))
    assert "refs/orchestrate/ci/issue-1" in git(yard.remote, "for-each-ref")


@pytest.mark.extended
async def test_a_token_that_may_not_write_is_told_of_and_nothing_is_lost(yard: Yard) -> None:
    await yard.worked()
    yard.forge.tokens = {TOKEN: {**ALL_RIGHTS, "pull_requests": "read"}}
    with pytest.raises(EnvironmentProblem, match="pull_requests: write"):
        await publish_run(yard.publishing(), PublishRequest(yard.handover))
    yard.forge.tokens = {TOKEN: ALL_RIGHTS}
    assert (await publish_run(yard.publishing(), PublishRequest(yard.handover))).exit_code == 0
    assert len(yard.forge.hosted.pulls) == 1


async def test_gitlab_makes_merge_requests_of_pushes_that_wish_so(yard: Yard) -> None:
    branch = await yard.worked()
    git(yard.remote, "config", "receive.advertisePushOptions", "true")
    hook = yard.remote / "hooks" / "post-receive"
    hook.parent.mkdir(exist_ok=True)
    count = "$(seq 0 $((GIT_PUSH_OPTION_COUNT - 1)))"
    hook.write_text(f'#!/bin/sh\nfor n in {count}; do eval echo "\\$GIT_PUSH_OPTION_$n" >> wishes; done\n')
    hook.chmod(0o755)
    done = await publish_run(yard.options(), PublishRequest(yard.handover, by_push=True))
    assert (done.exit_code, done.pull_requests[0].ref) == (0, branch)
    wishes = (yard.remote / "wishes").read_text().splitlines()
    assert wishes[:2] == ["merge_request.create", "merge_request.target=main"]
    assert wishes[2].startswith("merge_request.title=make it better")


@pytest.mark.parametrize("by_push", [True, False])
async def test_a_branch_that_was_removed_after_it_was_merged_does_not_come_back(yard: Yard, by_push: bool) -> None:
    branch = await yard.worked()
    git(yard.remote, "config", "receive.advertisePushOptions", "true")
    await publish_run(yard.publishing(), PublishRequest(yard.handover, by_push=by_push))
    for pull in yard.forge.hosted.pulls.values():
        yard.forge.hosted.merge(pull["number"], {})
    if by_push:
        git(yard.remote, "update-ref", "refs/heads/main", branch)
    git(yard.remote, "update-ref", "-d", f"refs/heads/{branch}")
    again = await publish_run(yard.publishing(), PublishRequest(yard.handover, by_push=by_push))
    assert (again.exit_code, yard.branches(), len(yard.forge.hosted.pulls)) == (0, ["main"], 0 if by_push else 1)


async def test_a_job_that_was_cut_off_is_published_as_far_as_it_came_and_is_not_green(yard: Yard) -> None:
    await yard.worked()

    def cut_off(told: dict[str, Any]) -> None:
        told.update(exit=None, status="running", pull_requests=[])

    yard.change(cut_off)
    done = await publish_run(yard.publishing(), PublishRequest(yard.handover))
    assert (done.exit_code, done.end.status, done.build_outputs()["resumable"]) == (5, "cut-off", "false")
    assert "refs/orchestrate/ci/issue-1" in git(yard.remote, "for-each-ref")


@pytest.mark.extended
async def test_what_a_run_asks_is_answered_from_the_refs_of_a_clone_before_the_next_job_goes_on(yard: Yard) -> None:
    await yard.worked(approval={"mode": "pr"})
    waiting = await publish_run(yard.publishing(), PublishRequest(yard.handover, issue=None))
    assert (waiting.exit_code, waiting.end.is_resumable, yard.forge.hosted.pulls) == (6, False, {})
    model = {"model": write_script(yard.place / "script.json", one("a"))}
    options = yard.options(gate=GATE_FLAGS, roles={"planner": model, "worker": model, "judge": model})
    place, state = await import_run_of_key(options, "issue-1")
    with pytest.raises(UsageProblem, match=r"'2' names no question.* waiting: q1 pull-request/"):
        select_waiting_item(state, "2")
    item = select_waiting_item(state, "q1")
    assert (select_waiting_item(state, ""), select_waiting_item(state, item)) == (item, item)
    send_command(place.directory, Approve(item=item))
    job = await claim_key(options, Job(holder="a job", key="issue-1", handover=yard.handover))
    place, _ = await start_or_resume_run(job)
    ended = await work_on_run(place)
    await save_run_state(
        job, place, build_job_result(ended.state, place.directory.journal, job.lease, job.until_s), "# Summary\n"
    )
    assert (await publish_run(yard.publishing(), PublishRequest(yard.handover))).exit_code == 0
    assert len(yard.forge.hosted.pulls) == 1


async def test_a_key_without_a_run_has_nothing_to_answer(yard: Yard) -> None:
    with pytest.raises(UsageProblem, match="has no run in this clone"):
        await import_run_of_key(yard.options(), "issue-9")
