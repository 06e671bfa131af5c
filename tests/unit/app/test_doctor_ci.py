"""`doctor --ci`: what a job has and lacks, told from its variables and its clone alone."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from orchestrator.doctor.checks import DoctorFinding
from orchestrator.doctor.ci_checks import check_ci_job
from orchestrator.project.options import Options, load_project_context
from tests.running.projects import calculator, git

GITHUB = {"GITHUB_ACTIONS": "true", "CI": "true", "GITHUB_WORKFLOW": "Orchestrate", "GITHUB_EVENT_NAME": "issues"}
KEYED = {"roles": {"worker": {"model": "anthropic/x"}, "judge": {"model": "openai/y", "api_key_env": "TEAM_KEY"}}}


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return calculator(tmp_path / "repo")


def found(
    repo: Path, environ: Mapping[str, str], system: Path = Path("/nowhere"), **flags: Any
) -> dict[str, DoctorFinding]:
    state = {"dir": str(repo.parent / "state")}
    around = load_project_context(Options(repo, {"state": state} | flags))
    return {finding.name: finding for finding in check_ci_job(around, environ, system)}


def test_a_sound_job_has_nothing_to_mend(repo: Path) -> None:
    environ = GITHUB | {"ANTHROPIC_API_KEY": "k", "TEAM_KEY": "k", "GITHUB_OUTPUT": "/o", "GITHUB_STEP_SUMMARY": "/s"}
    findings = found(repo, environ, **KEYED)
    assert not [finding for finding in findings.values() if not finding.is_ok]
    assert findings["ci"].detail == "GitHub Actions, Orchestrate"
    assert findings["secrets"].detail == "there: ANTHROPIC_API_KEY, TEAM_KEY"


def test_outside_ci_it_says_that_it_knows_little(repo: Path) -> None:
    finding = found(repo, {})["ci"]
    assert (finding.is_ok, finding.is_warning) == (False, True)
    assert "neither GitHub Actions nor GitLab CI" in finding.detail
    assert found(repo, {"GITLAB_CI": "true", "CI_JOB_NAME": "work"})["ci"].detail == "GitLab CI, work"


def test_a_shallow_clone_is_told_with_how_to_mend_it(repo: Path, tmp_path: Path) -> None:
    (repo / "more.txt").write_text("more\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "more")
    subprocess.run(["git", "clone", "-q", "--depth=1", repo.as_uri(), tmp_path / "shallow"], check=True)
    assert found(repo, GITHUB)["history"].is_ok
    finding = found(tmp_path / "shallow", GITHUB)["history"]
    assert (finding.is_ok, finding.is_warning) == (False, True)
    assert "fetch-depth: 0" in finding.detail
    assert "GIT_DEPTH: 0" in finding.detail


def test_a_secret_that_does_not_exist_is_told_from_one_that_was_not_given(repo: Path) -> None:
    finding = found(repo, GITHUB | {"ANTHROPIC_API_KEY": ""}, **KEYED)["secrets"]
    assert (finding.is_ok, finding.is_warning) == (False, False)
    assert "not there: ANTHROPIC_API_KEY, TEAM_KEY" in finding.detail
    assert "one that is empty is a secret that does not exist" in finding.detail
    assert "is empty" not in found(repo, GITHUB, **KEYED)["secrets"].detail


@pytest.mark.parametrize(
    ("token", "is_ok", "said"),
    [
        ("", True, "none here"),
        ("ghs_x", False, "start no workflow"),
        ("github_pat_x", True, "start workflows"),
        ("ghp_x", True, "all repositories"),
        ("glcbt-x", True, "project access token"),
        ("whatever", True, "not known"),
    ],
)
def test_a_token_is_told_by_how_it_begins_and_never_shown(repo: Path, token: str, is_ok: bool, said: str) -> None:
    secret = token and f"{token}verysecret"
    finding = found(repo, GITHUB | {"GITHUB_TOKEN": secret})["token"]
    assert finding.is_ok == is_ok
    assert said in finding.detail
    assert "verysecret" not in finding.detail


def test_the_key_and_the_right_to_write_belong_into_two_jobs(repo: Path) -> None:
    keys = {"ANTHROPIC_API_KEY": "k", "TEAM_KEY": "k"}
    assert found(repo, GITHUB | keys, **KEYED)["separation"].is_ok
    both = found(repo, GITHUB | keys | {"GITHUB_TOKEN": "ghs_x"}, **KEYED)["separation"]
    assert (both.is_ok, both.is_warning) == (False, True)
    git(repo, "config", "http.https://forge.example/.extraheader", "AUTHORIZATION: basic x")
    left = found(repo, GITHUB | keys, **KEYED)["separation"]
    assert "persist-credentials: false" in left.detail
    assert found(repo, GITHUB, **KEYED)["separation"].is_ok, "a job without the key may have the token"


@pytest.mark.parametrize("event", ["pull_request_target", "workflow_run"])
def test_an_event_that_strangers_cause_is_refused(repo: Path, event: str) -> None:
    finding = found(repo, GITHUB | {"GITHUB_EVENT_NAME": event})["event"]
    assert (finding.is_ok, finding.is_warning) == (False, False)


def test_a_workflow_that_runs_us_for_strangers_is_found_and_others_are_left_alone(repo: Path) -> None:
    place = repo / ".github" / "workflows"
    place.mkdir(parents=True)
    (place / "labels.yml").write_text("on: pull_request_target\njobs: {}\n")
    (place / "ours.yaml").write_text("on: workflow_dispatch\n# not pull_request_target\nrun: orchestrate ci run x\n")
    assert "workflow" not in found(repo, GITHUB)
    (place / "bad.yml").write_text("on: [push, pull_request_target]\njobs:\n  x:\n    - run: orchestrate run x\n")
    finding = found(repo, GITHUB)["workflow"]
    assert not finding.is_ok
    assert finding.detail.startswith("bad.yml starts a run by pull_request_target")


def test_a_kernel_that_keeps_the_sandbox_from_working_is_told_with_the_switch(repo: Path, tmp_path: Path) -> None:
    switch = tmp_path / "proc/sys/kernel/apparmor_restrict_unprivileged_userns"
    switch.parent.mkdir(parents=True)
    switch.write_text("1\n")
    finding = found(repo, GITHUB, tmp_path)["namespaces"]
    assert finding.detail.endswith("sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0")
    switch.write_text("0\n")
    assert found(repo, GITHUB, tmp_path)["namespaces"].is_ok


@pytest.mark.parametrize(("code", "said"), [(0, "without a password"), (1, "needs a password")])
def test_sudo_is_tried_in_ci_alone(repo: Path, tmp_path: Path, code: int, said: str) -> None:
    program = tmp_path / "bin" / "sudo"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho tried >> {tmp_path}/tried\nexit {code}\n")
    program.chmod(0o755)
    path = {"PATH": f"{program.parent}{os.pathsep}/nowhere"}
    assert "not tried" in found(repo, path)["sudo"].detail
    assert not (tmp_path / "tried").exists()
    assert said in found(repo, GITHUB | path)["sudo"].detail


def test_a_job_that_cannot_tell_its_next_steps_anything_is_told(repo: Path) -> None:
    assert not found(repo, GITHUB)["outputs"].is_ok
    assert found(repo, {})["outputs"].is_ok
