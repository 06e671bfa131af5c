"""`init`: write the files that a repository needs to be worked on, once; they are yours from then on."""

import json
import shlex
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from anyio import to_thread
from pydantic import Field

from orchestrator import workflows
from orchestrator.config.layers import PROJECT_FILE, get_user_config_path
from orchestrator.config.model import Config
from orchestrator.config.roles import ModelSettings
from orchestrator.errors import UsageProblem
from orchestrator.llm.litellm_adapter.credentials import get_key_variable
from orchestrator.migrate.survey.findings import Findings, TestCommand
from orchestrator.migrate.survey.recipe_draft import format_toml_list, format_toml_text
from orchestrator.migrate.survey.surveyor import survey_repository
from orchestrator.project.options import Options, ProjectContext, load_project_context, open_repository
from orchestrator.report.read_model import Document
from orchestrator.scaffold.recipe_file import read_project, write_new_file

_BUDGET_USD = "10"
_HEAD = """# What Orchestrate has to know of this project. It is committed, so it holds for everybody who works on it.
# `orchestrate config show --origin` prints every value and where it comes from. What only you may decide (models,
# budgets, the sandbox) goes into {user}, not here.

schema = 1
"""
_NO_COMMAND = """# The command of your tests was not found: write it here. Without one nothing can land.
# command = "make check"
# report = "auto"  # auto | junit | tap | pytest-rA | unittest | exit-code"""


@dataclass(frozen=True)
class ProjectFileRequest:
    """A request for the project's file, or with `forge` for a workflow whose jobs may work `limit_s` seconds each.

    `package` is what its jobs install (empty: as it was installed here, as far as that can be told).
    """

    forge: workflows.ForgeKind | None = None
    package: str = ""
    limit_s: int = 19_800
    may_overwrite: bool = False
    is_dry: bool = False


class ProjectFile(Document, schema="orchestrate.initial/1"):
    """The file, its text, its findings, and what a person has to do."""

    file: Path
    is_written: bool = Field(alias="written")
    text: str
    found: tuple[str, ...] = ()
    to_do: tuple[str, ...] = ()


async def write_project_file(options: Options, request: ProjectFileRequest) -> ProjectFile:
    """Write the file that is asked for.

    Raises:
        UsageProblem: it is no repository, the file exists and may not be lost, or it would lie elsewhere.
    """
    repository = await to_thread.run_sync(open_repository, options.repository)
    if request.forge is None:
        file = repository.root / PROJECT_FILE
        await to_thread.run_sync(_require_writable, file, repository.root, request)
        findings = survey_repository(await read_project(repository))
        lines = []
        for line in findings.render_lines():
            lines.append(line.strip().replace("[[verify.check]]", "[gate]"))
        text, found = render_project_toml(findings), tuple(lines)
        project_file = ProjectFile(file=file, is_written=not request.is_dry, text=text, found=found, to_do=_NEXT)
    else:
        file = repository.root / workflows.WORKFLOW_PATHS[request.forge]
        await to_thread.run_sync(_require_writable, file, repository.root, request)
        project = await to_thread.run_sync(load_project_context, options)
        project_file = _build_workflow(project, request.forge, request, file)
    if not request.is_dry:
        file.parent.mkdir(parents=True, exist_ok=True)
        await to_thread.run_sync(write_new_file, file, project_file.text, request.may_overwrite)
    return project_file


_NEXT = ("look at it, commit it, then: orchestrate doctor",)


def _build_workflow(
    project: ProjectContext, forge: workflows.ForgeKind, request: ProjectFileRequest, file: Path
) -> ProjectFile:
    config, package = project.config, request.package or find_install_spec()
    budget = f"{config.budget.usd:g}" if config.budget.usd else _BUDGET_USD
    models = build_role_models(config)
    values = workflows.WorkflowValues(package=package, limit_s=request.limit_s, budget_usd=budget, models=models)
    to_do = []
    if not package:
        to_do.append("say in the file what pip is to install: ORCHESTRATE_PACKAGE (or --package)")
    if any(not model.model for model in models):
        to_do.append("set the variable ORCHESTRATE_MODEL of the repository, for example to anthropic/claude-sonnet-4-5")
    to_do += [f"set the secret {name}" for name in workflows.list_secrets(models)]
    for model in models:
        if model.model and not model.secrets and not model.api_base:
            to_do.append(f"{model.model}: its provider takes its keys otherwise; add them")
    if not config.gate.command:
        to_do.append("the project has no gate command, without which nothing can land: orchestrate init")
    text = workflows.render_workflow(forge, values)
    return ProjectFile(file=file, is_written=not request.is_dry, text=text, to_do=(*to_do, *_AFTER[forge]))


_AFTER: dict[workflows.ForgeKind, tuple[str, ...]] = {
    "github": (
        "set the secret ORCHESTRATE_TOKEN, of an app or a person, if pull requests are to start your CI",
        "commit it to the default branch, then: Actions > Orchestrate > Run workflow",
    ),
    "gitlab": (
        "set ORCHESTRATE_TOKEN, a project access token, for the environment orchestrate/publish alone",
        "include it in .gitlab-ci.yml: include: [{local: .gitlab/orchestrate.yml}]",
    ),
}


def build_role_models(config: Config) -> tuple[workflows.RoleModel, ...]:
    """Return the models of the roles, as a job has to know them."""
    return tuple(_build_role_model(name, getattr(config.roles, name)) for name in workflows.ROLES)


def _build_role_model(role: str, settings: ModelSettings) -> workflows.RoleModel:
    key = settings.api_key_env
    if not key and not settings.api_base:
        key = get_key_variable(settings.model)
    return workflows.RoleModel(role, settings.model, settings.api_base, settings.api_key_env, (key,) if key else ())


def find_install_spec() -> str:
    """Return the pip requirement of this Orchestrate (PEP 610); empty if another machine could not install it."""
    try:
        installed = distribution("orchestrate")
    except PackageNotFoundError:
        return ""
    origin = installed.read_text("direct_url.json")
    if origin is None:
        return f"orchestrate=={installed.version}"
    url_record = json.loads(origin)
    vcs = url_record.get("vcs_info", {})
    is_pinned = vcs.get("vcs") and vcs.get("commit_id") and "://" in url_record["url"] and "@" not in url_record["url"]
    is_remote = is_pinned and not url_record["url"].startswith("file:")
    return f"{vcs['vcs']}+{url_record['url']}@{vcs['commit_id']}" if is_remote else ""


def _require_writable(file: Path, root: Path, request: ProjectFileRequest) -> None:
    """Refuse to overwrite a file unasked, and to write through a link to somewhere else."""
    if file.exists() and not (request.may_overwrite or request.is_dry):
        raise UsageProblem(f"{file} exists already: look at it with --dry-run, or say --force to lose it")
    if not file.resolve().is_relative_to(root.resolve()) or file.is_symlink():
        raise UsageProblem(f"{file} leads out of the repository by a symbolic link; remove the link first")


def render_project_toml(findings: Findings) -> str:
    """Return the text of the file: the gate, and in comments what else was found."""
    head = _HEAD.format(user=get_user_config_path({"HOME": "~"}))
    gate = "[gate]\n" + _render_gate(findings.command)
    return "\n".join([head, "\n".join(_render_findings(findings)), gate, _render_env(findings)])


def _render_findings(findings: Findings) -> list[str]:
    findings_by_name = [("sources", findings.sources), ("tests", findings.tests), ("not ours", findings.exclude)]
    lines = []
    for name, globs in findings_by_name:
        if globs:
            lines.append(f"# {name}: {_escape_comment(', '.join(globs))}")
    return [*lines, ""] if lines else []


def _render_gate(command: TestCommand | None) -> str:
    if command is None:
        return f"{_NO_COMMAND}\n"
    run = command.run
    if "{tests}" in run:
        run = " ".join(run.replace("{tests}", command.all).split())
    notes = [f"# {_escape_comment(note)}" for note in command.notes]
    lines = [
        f"# found in: {_escape_comment(command.source_file)}",
        *notes,
        f"command = {format_toml_text(run)}",
        f"report = {format_toml_text(command.report)}",
    ]
    return "\n".join(lines) + "\n"


def _render_env(findings: Findings) -> str:
    """Return a comment on where the tests find what they need: lent by the checkout, or installed."""
    if findings.environments:
        names = ", ".join(map(shlex.quote, findings.environments))
        return f"# [env]\n# {names} of the checkout: lent to every workspace, read-only, unless deps say otherwise.\n"
    if findings.manifests:
        deps = format_toml_list(findings.manifests[:1])
        return (
            "# [env]\n# The checkout has no .venv, venv or node_modules to lend: this installs one (docs/tiers.md).\n"
            f"# deps = {deps}\n"
        )
    return ""


def _escape_comment(text: str) -> str:
    letters = []
    for letter in text:
        letters.append(letter if letter.isprintable() else "?")
    return "".join(letters)
