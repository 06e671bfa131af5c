"""`orchestrate ci run` as a CI system calls it: signals, outputs, and what it does when it is not alone."""

import json
import signal
import time
from pathlib import Path

import pytest

from tests.running.cli import environment
from tests.running.hops import Ci, CiJob
from tests.running.in_process import orchestrate
from tests.running.killing import processes_about
from tests.running.projects import git
from tests.running.stories import goal

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(480)]

KEY = ("--key", "issue-12", "--save-every", "1s")
TICKET = "refs/orchestrate/ci/issue-12"


@pytest.fixture
def ci(tmp_path: Path) -> Ci:
    (tmp_path / "story").mkdir()
    start = goal(tmp_path / "story")
    return Ci.of(start.cwd / "repo", tmp_path / "ci", [*start.words[1:], *KEY])


def journals(ci: Ci) -> list[str]:
    return [ref for ref in ci.refs() if ref.endswith("/journal")]


def saved(ci: Ci, job: CiJob) -> None:
    """Wait until the job has left something for the next one."""
    end = time.monotonic() + 240
    while not journals(ci):
        assert time.monotonic() < end, (job.home / "said").read_text()
        time.sleep(0.05)


@pytest.mark.slow
def test_a_job_that_is_told_to_stop_leaves_its_state_and_the_next_one_ends_the_run(ci: Ci) -> None:
    job = ci.job()
    process = job.begin("--json")
    saved(ci, job)
    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGINT)
    assert process.wait(300) in (130, 143), (job.home / "said").read_text()
    assert (job.outputs["status"], job.outputs["resumable"]) == ("paused", "false")
    assert job.outputs["exit"] == str(process.returncode)
    assert (job.home / "summary.md").read_text().startswith("Job 1 of at most 20 with the key `issue-12`.")
    assert processes_about(job.home) == []
    second = ci.job()
    done = second.run(words=["--resume", job.outputs["run_id"][-4:]])
    assert done.code == 0, done.err
    assert f"key issue-12: job 2 of at most 20 on run {job.outputs['run_id']}" in done.err
    assert (second.outputs["status"], second.outputs["run_id"]) == ("done", job.outputs["run_id"])
    assert json.loads(git(ci.remote, "show", f"{TICKET}:ticket.json"))["lease"] is None


@pytest.mark.slow
def test_no_engine_works_on_when_its_job_is_dead(ci: Ci) -> None:
    job = ci.job()
    process = job.begin()
    saved(ci, job)
    process.kill()
    process.wait()
    end = time.monotonic() + 240
    while left := processes_about(job.home):
        assert time.monotonic() < end, left
        time.sleep(0.1)


@pytest.mark.slow
def test_a_job_whose_key_is_taken_stops_and_replaces_nothing(ci: Ci) -> None:
    job = ci.job()
    process = job.begin()
    saved(ci, job)
    theirs = git(ci.remote, "commit-tree", "-m", "theirs", "HEAD^{tree}")
    git(ci.remote, "update-ref", TICKET, theirs)
    mine = {ref: ci.refs()[ref] for ref in journals(ci)}
    assert process.wait(300) == 8
    said = (job.home / "said").read_text()
    assert f"error: {TICKET} on origin is another job's by now" in said
    assert ci.refs()[TICKET] == theirs
    assert mine == {ref: ci.refs()[ref] for ref in journals(ci)}
    assert (job.outputs["exit"], job.outputs["resumable"]) == ("8", "false")
    assert processes_about(job.home) == []


def test_what_cannot_begin_is_told_as_outputs_and_as_json_and_takes_no_key(ci: Ci) -> None:
    job = ci.job()
    done = job.run("--json", "--set", "gate.command=", "--gate", "")
    assert (done.code, done.json["status"], done.json["exit"]) == (2, "not-started", 2)
    assert "no gate is configured" in done.json["reason"] and "no gate is configured" in done.err
    assert (job.outputs["status"], job.outputs["key"], job.outputs["resumable"]) == ("not-started", "issue-12", "false")
    assert json.loads(git(ci.remote, "show", f"{TICKET}:ticket.json"))["hop"] == 0
    assert not journals(ci)


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["goal"], 2, "name what the jobs of this run have in common with --key"),
        (["goal", "--key", "a/b"], 2, "'a/b' is no key"),
        (["goal", "--key", "k", "--recipe", "r.toml"], 2, "exclude each other"),
        (["--key", "k"], 2, "key k has no run to go on with"),
        (["goal", "--key", "k", "--remote", "upstream"], 2, "there is no remote upstream"),
        (["--resume", "7f3a"], 2, "'7f3a' is carried on by no key"),
        (["goal", "--key", "k", "--stale-after", "1s"], 2, "--stale-after: at least 2 s"),
    ],
)
def test_a_mistake_is_told_with_what_to_do(ci: Ci, words: list[str], code: int, message: str) -> None:
    done = ci.job().run(words=words)
    assert done.code == code
    assert message in done.err
    assert "Traceback" not in done.err


def test_no_words_of_an_issue_are_a_command_in_the_log_of_a_job(tmp_path: Path) -> None:
    body = "please\n::add-mask::a\n  ::stop-commands::b\n##[set-output name=run]c"
    (tmp_path / "event.json").write_text(json.dumps({"issue": {"number": 1, "title": "::error::x", "body": body}}))
    told = {"GITHUB_EVENT_PATH": str(tmp_path / "event.json"), "GITHUB_EVENT_NAME": "issues"}
    goal_file = tmp_path / "goal.txt"
    done = orchestrate("ci", "event", "--goal-file", str(goal_file), cwd=tmp_path, env=environment(tmp_path, **told))
    assert done.code == 0, done.err
    assert goal_file.read_text() == f"::error::x\n\n{body}"
    lines = (done.out + done.err).splitlines()
    assert not [line for line in lines if line.lstrip().startswith("::") or "##[" in line]
