"""`init`: write the files that a repository needs to be worked on, once; they are yours from then on."""

import shlex
from dataclasses import dataclass
from pathlib import Path

from anyio import to_thread
from pydantic import Field

from orchestrator import workflows
from orchestrator.config.layers import PROJECT_FILE, get_user_config_path
from orchestrator.discovery.earlier_costs import collect_earlier_costs
from orchestrator.errors import EnvironmentProblem, UsageProblem
from orchestrator.migrate.survey.findings import Findings, TestCommand
from orchestrator.migrate.survey.recipe_draft import format_toml_text
from orchestrator.project.options import Options, load_project_context, open_places, open_repository
from orchestrator.report.cost.earlier_runs import describe_earlier_costs, suggest_budget_usd
from orchestrator.report.read_model import Document, Omittable
from orchestrator.scaffold.agents_file import AgentsFile
from orchestrator.scaffold.environment import build_env_entries, survey_project
from orchestrator.scaffold.locked_requirements import lock_requirements
from orchestrator.scaffold.recipe_file import write_new_file
from orchestrator.scaffold.workflow_file import build_workflow, find_install_spec

_HEAD = """# What Orchestrate has to know of this project. It is committed, so it holds for everybody who works on it.
# `orchestrate config show --origin` prints every value and where it comes from. What only you may decide (models,
# budgets, the sandbox) goes into {user}, not here.

schema = 1
"""
_NO_COMMAND = """# The command of your tests was not found: write it here. Without one nothing can land.
# command = "make check"
# report = "auto"  # auto | junit | tap | pytest-rA | unittest | cargo | go | jest | vitest | mocha | exit-code"""


@dataclass(frozen=True)
class ProjectFileRequest:
    """A request for the project's file, or with `forge` for a workflow whose jobs may work `limit_s` seconds each.

    `package` is what its jobs install (empty: as it was installed here, as far as that can be told); with
    `wants_hashes` a file beside the workflow pins that with all it needs by hashes. With `keeps_file`
    one that exists is left as it is, and that is no mistake.
    """

    forge: workflows.ForgeKind | None = None
    package: str = ""
    limit_s: int = 19_800
    may_overwrite: bool = False
    is_dry: bool = False
    wants_hashes: bool = False
    keeps_file: bool = False


class ProjectFile(Document, schema="orchestrate.initial/1"):
    """The file, its text, its findings, and what a person has to do; `requirements` pins what its jobs install."""

    file: Path
    is_written: bool = Field(alias="written")
    text: str
    found: tuple[str, ...] = ()
    to_do: tuple[str, ...] = ()
    requirements: Omittable[Path] = None
    agents_file: Omittable[AgentsFile] = Field(default=None, alias="agents_md")


async def write_project_file(options: Options, request: ProjectFileRequest) -> ProjectFile:
    """Write the file that is asked for.

    Raises:
        UsageProblem: it is no repository, the file exists and may not be lost, or it would lie elsewhere.
    """
    repository = await to_thread.run_sync(open_repository, options.repository)
    if request.forge is None:
        file = repository.root / PROJECT_FILE
        if request.keeps_file and not request.may_overwrite and not request.is_dry and file.exists():
            return ProjectFile(file=file, is_written=False, text="")
        await to_thread.run_sync(_require_writable, file, repository.root, request)
        findings, refusal = await survey_project(repository)
        lines = []
        for line in findings.render_lines():
            lines.append(line.strip().replace("[[verify.check]]", "[gate]"))
        text = render_project_toml(findings, refusal) + await to_thread.run_sync(render_budget_proposal, options)
        project_file = ProjectFile(file=file, is_written=not request.is_dry, text=text, found=tuple(lines), to_do=_NEXT)
    else:
        file = repository.root / workflows.WORKFLOW_PATHS[request.forge]
        await to_thread.run_sync(_require_writable, file, repository.root, request)
        project = await to_thread.run_sync(load_project_context, options)
        workflow = await build_workflow(project, request.forge, request.package, request.limit_s)
        to_do = workflow.to_do
        project_file = ProjectFile(file=file, is_written=not request.is_dry, text=workflow.text, to_do=to_do)
        if request.wants_hashes and not request.is_dry:
            project_file = await _write_requirements(project_file, repository.root, request, request.forge)
    if not request.is_dry:
        file.parent.mkdir(parents=True, exist_ok=True)
        await to_thread.run_sync(write_new_file, file, project_file.text, request.may_overwrite)
    return project_file


async def _write_requirements(
    project_file: ProjectFile, root: Path, request: ProjectFileRequest, forge: workflows.ForgeKind
) -> ProjectFile:
    """Write the file with hashes; where pip cannot tell them, say so among what a person has to do."""
    file = root / workflows.REQUIREMENTS_PATHS[forge]
    await to_thread.run_sync(_require_writable, file, root, request)
    try:
        text = await to_thread.run_sync(lock_requirements, request.package or find_install_spec())
    except EnvironmentProblem as problem:
        advice = f"its jobs install packages without hashes ({problem}): mend that and write the files again (--force)"
        return project_file.model_copy(update={"to_do": (*project_file.to_do, advice)})
    file.parent.mkdir(parents=True, exist_ok=True)
    await to_thread.run_sync(write_new_file, file, text, request.may_overwrite)
    return project_file.model_copy(update={"requirements": file})


_NEXT = ("look at it, commit it, then: orchestrate doctor",)


def _require_writable(file: Path, root: Path, request: ProjectFileRequest) -> None:
    """Refuse to overwrite a file unasked, and to write through a link to somewhere else."""
    if file.exists() and not (request.may_overwrite or request.is_dry):
        raise UsageProblem(f"{file} exists already: look at it with --dry-run, or say --force to lose it")
    if not file.resolve().is_relative_to(root.resolve()) or file.is_symlink():
        raise UsageProblem(f"{file} leads out of the repository by a symbolic link; remove the link first")


def render_project_toml(findings: Findings, refusal: str = "") -> str:
    """Return the text of the file: the gate, what its environment is made of, and in comments what else was found.

    `refusal` says why `deps` cannot install what was found.
    """
    head = _HEAD.format(user=get_user_config_path({"HOME": "~"}))
    gate = "[gate]\n" + _render_gate(findings.command)
    return "\n".join([head, "\n".join(_render_findings(findings)), gate, _render_env(findings, refusal)])


def render_budget_proposal(options: Options) -> str:
    """Return a budget as a comment, with what earlier runs of the repository cost. Blocks."""
    _, state = open_places(options)
    earlier = collect_earlier_costs(state, "goal")
    why = describe_earlier_costs(earlier) or "no run of this repository has ended yet"
    user = get_user_config_path({"HOME": "~"})
    lines = (
        f"# A run may spend without a limit unless you set one; only you can, in {user}:",
        f"# {why}.",
        "# [budget]",
        f"# usd = {suggest_budget_usd(earlier)}",
    )
    return "\n" + "\n".join(lines) + "\n"


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


def _render_env(findings: Findings, refusal: str) -> str:
    """Return where the tests find what they need: lent by the checkout, installed by `deps`, or both."""
    entries = build_env_entries(findings)
    lines = []
    if findings.environments:
        names = ", ".join(map(shlex.quote, findings.environments))
        lines.append(f"# {names} of the checkout: lent to every workspace, read-only, unless deps say otherwise.")
        if entries:
            lines.append("# A fresh clone, such as that of a CI job, has none. This installs one for every workspace:")
    elif entries:
        lines.append("# Installed for every workspace before anybody works, and kept (docs/tiers.md).")
    if refusal:
        lines.append(f"# Not as it stands: {_escape_comment(refusal)}")
    is_comment = bool(findings.environments or refusal)
    if is_comment:
        entries = [f"# {line}" for line in entries]
    head = "# [env]" if is_comment else "[env]"
    if not lines and not entries:
        return ""
    return "\n".join((head, *lines, *entries)) + "\n"


def _escape_comment(text: str) -> str:
    letters = []
    for letter in text:
        letters.append(letter if letter.isprintable() else "?")
    return "".join(letters)
