"""`orchestrate init`."""

from pathlib import Path

import anyio
import click

from orchestrator.cli.arguments import DIRECTORY, Duration, json_option
from orchestrator.cli.output import print_document, print_message
from orchestrator.project.options import Options
from orchestrator.scaffold.agents_file import AGENTS_FILE, draft_agents_file, write_agents_file
from orchestrator.scaffold.project_file import ProjectFile, ProjectFileRequest, write_project_file
from orchestrator.workflows import ForgeKind

_SHORTEST_S = 60.0


@click.command("init")
@click.option("--ci", "forge", type=click.Choice(["github", "gitlab"]), help="A workflow that starts runs there.")
@click.option("--package", default="", metavar="SPEC", help="What its jobs install with pip, such as git+https://…@….")
@click.option(
    "--time-limit", type=Duration(), default="5h30m", metavar="5h30m", help="How long one of its jobs may work."
)
@click.option(
    "--agents-md/--no-agents-md",
    "agents_md",
    default=None,
    help="Also write a first AGENTS.md, which tells agents of the project; else it is only proposed.",
)
@click.option(
    "--hashes/--no-hashes",
    "wants_hashes",
    default=True,
    help="With --ci: also pin what its jobs install by hashes, which pip looks up in your index. [default: hashes]",
)
@click.option("--force", is_flag=True, help="Overwrite the file.")
@click.option("--dry-run", is_flag=True, help="Print the file; write nothing.")
@click.option("--repo", type=DIRECTORY, default=Path(), help="The repository.")
@json_option
def init_command(
    *,
    forge: ForgeKind | None,
    package: str,
    time_limit: float,
    agents_md: bool | None,
    wants_hashes: bool,
    force: bool,
    dry_run: bool,
    repo: Path,
    as_json: bool,
) -> None:
    """Write orchestrate.toml, with the project's test command; or with --ci a workflow file.

    An existing file is kept unless --force is given. AGENTS.md is never overwritten.

    \b
    orchestrate init
    orchestrate init --agents-md
    orchestrate init --ci github --package git+https://forge.example/tools/orchestrate@0a1b2c3
    orchestrate init --ci gitlab --dry-run
    """
    if time_limit < _SHORTEST_S:
        raise click.BadParameter("a job needs a minute at least", param_hint="--time-limit")
    if package and forge is None:
        raise click.UsageError("--package is for workflow files: say --ci github or --ci gitlab, too")
    if agents_md and forge is not None:
        raise click.UsageError("--agents-md goes with orchestrate.toml: leave --ci out")
    if not package.isprintable():
        raise click.BadParameter("it has to be one line", param_hint="--package")
    wants_agents_file = bool(agents_md)
    if forge is not None and wants_hashes and not (dry_run or as_json):
        print_message("looking up the hashes of what the jobs install; that takes up to a minute")
    request = ProjectFileRequest(forge, package, int(time_limit), force, dry_run, wants_hashes, wants_agents_file)
    project_file = anyio.run(write_project_file, Options(repo), request)
    if forge is None and agents_md is not False:
        is_quiet = as_json or dry_run
        project_file = _add_agents_file(Options(repo), project_file, wants_agents_file, dry_run, is_quiet)
    print_document(project_file, _render_project_file(project_file), as_json)
    if not project_file.is_written and project_file.text and not as_json:
        print_message(f"nothing was written; it would go to {project_file.file}")


def _add_agents_file(
    options: Options, project_file: ProjectFile, is_wanted: bool, is_dry: bool, is_quiet: bool
) -> ProjectFile:
    """Return what was done with a first AGENTS.md added: written, proposed, or one that was there kept."""
    draft = anyio.run(draft_agents_file, options)
    is_missing = draft.existing is None and not is_dry
    if is_missing and is_wanted:
        draft = anyio.run(write_agents_file, draft)
    elif is_missing and not is_quiet:
        advice = f"orchestrate init --agents-md writes a first {AGENTS_FILE}, which tells agents of the project"
        return project_file.model_copy(update={"to_do": (*project_file.to_do, advice)})
    if draft.is_written or is_wanted:
        return project_file.model_copy(update={"agents_file": draft})
    return project_file


def _render_project_file(project_file: ProjectFile) -> list[str]:
    agents_file = project_file.agents_file
    if not project_file.is_written and project_file.text:
        lines = project_file.text.splitlines()
        if agents_file is not None and agents_file.text:
            lines += ["", f"# {agents_file.file}", *agents_file.text.splitlines()]
        return lines
    lines = [f"kept {project_file.file}"]
    if project_file.is_written:
        lines = [f"wrote {project_file.file}", *(f"  {line}" for line in project_file.found)]
    if project_file.requirements is not None:
        lines.append(f"wrote {project_file.requirements}: what the jobs install, by hashes")
    if agents_file is not None and agents_file.existing:
        lines.append(f"kept {agents_file.existing}, which tells agents of the project already")
    elif agents_file is not None:
        lines.append(f"wrote {agents_file.file}: add what no file shows, and commit it")
    return [*lines, *(f"next: {line}" for line in project_file.to_do)]
