"""`init`: write the files that a repository needs to be worked on, once; they are yours from then on."""

import json
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from anyio import to_thread

from orchestrator.config.layers import PROJECT_FILE
from orchestrator.config.model import Config
from orchestrator.config.roles import ModelSettings
from orchestrator.errors import UsageProblem
from orchestrator.llm.litellm_adapter.credentials import get_key_variable
from orchestrator.migrate.survey.surveyor import survey_repository
from orchestrator.project.options import Options, ProjectContext, load_project_context, open_repository
from orchestrator.scaffold.project_toml import render_project_toml
from orchestrator.scaffold.recipe_file import read_project
from orchestrator.workflows import (
    ROLES,
    WORKFLOW_PATHS,
    ForgeKind,
    RoleModel,
    WorkflowValues,
    list_secrets,
    render_workflow,
)

_BUDGET_USD = "10"


@dataclass(frozen=True)
class ProjectFileRequest:
    """A request for the project's file, or with `forge` for a workflow whose jobs may work `limit_s` seconds each.

    `package` is what its jobs install (empty: as it was installed here, as far as that can be told).
    """

    forge: ForgeKind | None = None
    package: str = ""
    limit_s: int = 19_800
    may_overwrite: bool = False
    is_dry: bool = False


@dataclass(frozen=True)
class ProjectFile:
    """The file, its text, its findings, and what a person has to do."""

    file: Path
    text: str
    is_written: bool
    found: tuple[str, ...] = ()
    to_do: tuple[str, ...] = ()

    def as_object(self) -> dict[str, Any]:
        """Return the object for --json."""
        return {
            "schema": "orchestrate.initial/1",
            "file": str(self.file),
            "written": self.is_written,
            "text": self.text,
            "found": list(self.found),
            "to_do": list(self.to_do),
        }


async def write_project_file(options: Options, wish: ProjectFileRequest) -> ProjectFile:
    """Write the file that is asked for.

    Raises:
        UsageProblem: it is no repository, the file exists and may not be lost, or it would lie elsewhere.
    """
    repository = await to_thread.run_sync(open_repository, options.repository)
    file = repository.root / (WORKFLOW_PATHS[wish.forge] if wish.forge else PROJECT_FILE)
    await to_thread.run_sync(_require_place, file, repository.root, wish)
    if wish.forge is None:
        findings = survey_repository(await read_project(repository))
        told = tuple(line.strip().replace("[[verify.check]]", "[gate]") for line in findings.render_lines())
        made = ProjectFile(file, render_project_toml(findings), not wish.is_dry, told, _NEXT)
    else:
        around = await to_thread.run_sync(load_project_context, options)
        made = _workflow(around, wish.forge, wish, file)
    if not wish.is_dry:
        await to_thread.run_sync(_write, made, wish.may_overwrite)
    return made


_NEXT = ("look at it, commit it, then: orchestrate doctor",)


def _workflow(around: ProjectContext, forge: ForgeKind, wish: ProjectFileRequest, file: Path) -> ProjectFile:
    config, package = around.config, wish.package or find_install_spec()
    if config.budget.usd:
        budget = f"{config.budget.usd:g}"
    else:
        budget = _BUDGET_USD
    models = build_role_models(config)
    decided = WorkflowValues(package=package, limit_s=wish.limit_s, budget_usd=budget, models=models)
    to_do = [] if package else ["say in the file what pip is to install: ORCHESTRATE_PACKAGE (or --package)"]
    if any(not one.model for one in models):
        to_do.append("set the variable ORCHESTRATE_MODEL of the repository, for example to anthropic/claude-sonnet-4-5")
    to_do += [f"set the secret {name}" for name in list_secrets(models)]
    to_do += [f"{one.model}: its provider takes its keys otherwise; add them" for one in models if _is_odd(one)]
    if not config.gate.command:
        to_do.append("the project has no gate command, without which nothing can land: orchestrate init")
    return ProjectFile(file, render_workflow(forge, decided), not wish.is_dry, to_do=(*to_do, *_AFTER[forge]))


_AFTER: dict[ForgeKind, tuple[str, ...]] = {
    "github": (
        "set the secret ORCHESTRATE_TOKEN, of an app or a person, if pull requests are to start your CI",
        "commit it to the default branch, then: Actions > Orchestrate > Run workflow",
    ),
    "gitlab": (
        "set ORCHESTRATE_TOKEN, a project access token, for the environment orchestrate/publish alone",
        "include it in .gitlab-ci.yml: include: [{local: .gitlab/orchestrate.yml}]",
    ),
}


def _is_odd(one: RoleModel) -> bool:
    return bool(one.model) and not one.secrets and not one.api_base


def build_role_models(config: Config) -> tuple[RoleModel, ...]:
    """Return the models of the roles, as a job has to know them."""
    return tuple(_role_model(name, getattr(config.roles, name)) for name in ROLES)


def _role_model(role: str, settings: ModelSettings) -> RoleModel:
    key = settings.api_key_env or ("" if settings.api_base else get_key_variable(settings.model))
    secrets = (key,) if key else ()
    return RoleModel(role, settings.model, settings.api_base, settings.api_key_env, secrets)


def find_install_spec() -> str:
    """Return the pip requirement of this Orchestrate (PEP 610); empty if another machine could not install it."""
    try:
        installed = distribution("orchestrate")
    except PackageNotFoundError:
        return ""
    origin = installed.read_text("direct_url.json")
    if origin is None:
        return f"orchestrate=={installed.version}"
    said = json.loads(origin)
    vcs = said.get("vcs_info", {})
    is_pinned = vcs.get("vcs") and vcs.get("commit_id") and "://" in said["url"] and "@" not in said["url"]
    is_remote = is_pinned and not said["url"].startswith("file:")
    if is_remote:
        return f"{vcs['vcs']}+{said['url']}@{vcs['commit_id']}"
    return ""


def _require_place(file: Path, root: Path, wish: ProjectFileRequest) -> None:
    """Refuse to overwrite a file unasked, and to write through a link to somewhere else."""
    if file.exists() and not (wish.may_overwrite or wish.is_dry):
        raise UsageProblem(f"{file} exists already: look at it with --dry-run, or say --force to lose it")
    if not file.resolve().is_relative_to(root.resolve()) or file.is_symlink():
        raise UsageProblem(f"{file} leads out of the repository by a symbolic link; remove the link first")


def _write(made: ProjectFile, may_overwrite: bool) -> None:
    made.file.parent.mkdir(parents=True, exist_ok=True)
    try:
        with made.file.open("w" if may_overwrite else "x", encoding="utf-8") as file:
            file.write(made.text)
    except FileExistsError:
        raise UsageProblem(f"{made.file} exists already: say --force to lose it") from None
