"""The jobs of GitLab's file, their scripts run by bash as they stand, on fresh clones of one remote."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from orchestrator.workflows import ROLES, RoleModel, WorkflowValues, render_workflow
from tests.running.cli import environment
from tests.running.goals import one
from tests.running.projects import GATE, calculator, git
from tests.running.scripts import write_script

pytestmark = [pytest.mark.sandbox, pytest.mark.slow, pytest.mark.timeout(600)]


@dataclass
class Pipelines:
    """A project with the file in it. Each job has a fresh clone; `handover` is what the first leaves for the second."""

    place: Path
    file: str
    count: int = 0

    def run(self, **variables: str) -> list[subprocess.CompletedProcess[str]]:
        """One pipeline, started with these variables: its two jobs."""
        self.count += 1
        return [self._job(name, variables) for name in ("orchestrate-work", "orchestrate-publish")]

    def _job(self, name: str, variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
        document = yaml.safe_load(self.file)
        home = self.place / f"pipeline{self.count}" / name
        home.mkdir(parents=True)
        git(home, "clone", "-q", str(self.place / "remote.git"), "clone")
        kept = home.parent / "handover"
        if kept.exists():
            kept.rename(home / "clone" / "handover")
        shared, job = document[".orchestrate"], document[name]
        usual = {key: value["value"] for key, value in document["variables"].items()}
        done = subprocess.run(
            ["bash", "-eo", "pipefail", "-c", "\n".join([*shared["before_script"], *job["script"]])],
            cwd=home / "clone",
            env=self._env(home) | usual | shared["variables"] | job.get("variables", {}) | variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=400,
            check=False,
        )
        if name == "orchestrate-work" and (home / "clone" / "handover").exists():
            (home / "clone" / "handover").rename(kept)
        return done

    def _env(self, home: Path) -> dict[str, str]:
        env = environment(home, GITLAB_CI="true", CI_PIPELINE_ID=str(self.count), CI_PIPELINE_SOURCE="web")
        where = {"CI_COMMIT_REF_NAME": "main", "CI_API_V4_URL": "https://lab.example/api/v4", "CI_PROJECT_ID": "7"}
        where |= {"CI_PROJECT_URL": str(self.place / "remote"), "CI_JOB_TOKEN": "glcbt-x"}
        return env | where | {"PATH": f"{self.place / 'bin'}{os.pathsep}{env['PATH']}"}

    def program(self, name: str, script: str) -> None:
        path = self.place / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/bash\n{script}\n")
        path.chmod(0o755)


@pytest.fixture
def pipelines(tmp_path: Path) -> Pipelines:
    repo = calculator(tmp_path / "repo")
    (repo / "orchestrate.toml").write_text(f'schema = 1\n[gate]\ncommand = "{GATE}"\nreport = "unittest"\n')
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "configured")
    git(tmp_path, "clone", "-q", "--bare", str(repo), str(tmp_path / "remote.git"))
    git(tmp_path / "remote.git", "config", "receive.advertisePushOptions", "true")
    hook = tmp_path / "remote.git" / "hooks" / "post-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text('#!/bin/sh\n[ "$GIT_PUSH_OPTION_COUNT" = 0 ] || echo "$GIT_PUSH_OPTION_0" >> wishes\n')
    hook.chmod(0o755)
    model = write_script(tmp_path / "script.json", one("a"))
    models = tuple(RoleModel(role, model) for role in ROLES)
    made = Pipelines(tmp_path, render_workflow("gitlab", WorkflowValues("orchestrate==1", 19_800, "10", models)))
    made.program("python", "exit 0")
    made.program("curl", f'printf "%s\\n" "$@" >> {tmp_path}/curl.calls')
    made.program("orchestrate", f'exec {sys.executable} -m orchestrator "$@"')
    return made


def test_a_pipeline_whose_time_is_over_starts_the_next_one_which_makes_the_merge_request(pipelines: Pipelines) -> None:
    first, *rest = one("a")
    write_script(pipelines.place / "script.json", [first.model_copy(update={"delay_s": 3.0}), *rest])
    work, publish = pipelines.run(ORCHESTRATE_GOAL="make it better", ORCHESTRATE_TIME_LIMIT="1s")
    assert (work.returncode, publish.returncode) == (0, 0), work.stderr + publish.stderr
    calls = (pipelines.place / "curl.calls").read_text().splitlines()
    assert calls[-1] == "https://lab.example/api/v4/projects/7/trigger/pipeline"
    (given,) = [call for call in calls if call.startswith("variables[ORCHESTRATE_RUN]=")]
    work, publish = pipelines.run(ORCHESTRATE_RUN=given.partition("=")[2])
    assert (work.returncode, publish.returncode) == (0, 0), work.stderr + publish.stderr
    remote = pipelines.place / "remote.git"
    assert (remote / "wishes").read_text() == "merge_request.create\n"
    assert len(git(remote, "for-each-ref", "refs/heads/orchestrate").splitlines()) == 1
    assert (pipelines.place / "curl.calls").read_text().splitlines() == calls, "it is at its end"


def test_a_pipeline_that_cannot_begin_is_red_in_its_first_job(pipelines: Pipelines) -> None:
    work, _ = pipelines.run(ORCHESTRATE_RUN="7f3a")
    assert work.returncode == 2
    assert "'7f3a' is carried on by no key" in work.stderr
