"""Find out what an environment for a project's tests can be made of: entries for `[env]` of its file."""

import json

from orchestrator.domain.ids import CommitId
from orchestrator.domain.sandbox.tier import Tier
from orchestrator.errors import UsageProblem
from orchestrator.hands.policy import SandboxGrant
from orchestrator.migrate.survey.findings import Findings
from orchestrator.migrate.survey.recipe_draft import format_toml_list
from orchestrator.migrate.survey.surveyor import survey_repository
from orchestrator.provisioning.dependencies import load_manifests
from orchestrator.scaffold.recipe_file import read_project
from worktrees.repositories.repository import GitRepository

_SOURCE_FOLDER = "src"


async def survey_project(repository: GitRepository) -> tuple[Findings, str]:
    """Return the findings of a repository's commit, and why `deps` cannot install from what was found, if so."""
    findings = survey_repository(await read_project(repository))
    try:
        commit = CommitId(repository.read_head_commit())
        await load_manifests(SandboxGrant(ceiling=Tier.REGISTRIES), findings.deps, repository, commit)
    except UsageProblem as problem:
        return findings, str(problem)
    return findings, ""


def build_env_entries(findings: Findings) -> list[str]:
    """Return the lines of `[env]` that make an environment in a fresh clone; none if nothing to install is known."""
    if not findings.deps:
        return []
    lines = [f"deps = {format_toml_list(findings.deps)}"]
    if variables := find_variables(findings):
        pairs = ", ".join(f"{name} = {json.dumps(value)}" for name, value in variables.items())
        lines.append(f"vars = {{ {pairs} }}  # deps installs what the project needs, not the project itself")
    return lines


def find_variables(findings: Findings) -> dict[str, str]:
    """Return the variables by which tests import a project that is not installed: its sources may lie below `src`."""
    has_source_folder = any(glob.startswith(f"{_SOURCE_FOLDER}/") for glob in findings.sources)
    if findings.language == "python" and has_source_folder:
        return {"PYTHONPATH": _SOURCE_FOLDER}
    return {}
