"""`orchestrate init`."""

from pathlib import Path

import anyio
import click

from orchestrator.cli.arguments import DIRECTORY, Duration, json_option
from orchestrator.cli.output import print_document, print_message
from orchestrator.project.options import Options
from orchestrator.scaffold.project_file import ProjectFile, ProjectFileRequest, write_project_file
from orchestrator.workflows import ForgeKind

_SHORTEST_S = 60.0


@click.command("init")
@click.option("--ci", "forge", type=click.Choice(["github", "gitlab"]), help="A workflow that starts runs there.")
@click.option("--package", default="", metavar="SPEC", help="What its jobs install with pip, such as git+https://…@….")
@click.option(
    "--time-limit", type=Duration(), default="5h30m", metavar="5h30m", help="How long one of its jobs may work."
)
@click.option("--force", is_flag=True, help="Overwrite the file.")
@click.option("--dry-run", is_flag=True, help="Print the file; write nothing.")
@click.option("--repo", type=DIRECTORY, default=Path(), help="The repository.")
@json_option
def init_command(
    forge: ForgeKind | None, package: str, time_limit: float, force: bool, dry_run: bool, repo: Path, as_json: bool
) -> None:
    """Write orchestrate.toml, with the project's test command; or with --ci a workflow file.

    An existing file is kept unless --force is given.

    \b
    orchestrate init
    orchestrate init --ci github --package git+https://forge.example/tools/orchestrate@0a1b2c3
    orchestrate init --ci gitlab --dry-run
    """
    if time_limit < _SHORTEST_S:
        raise click.BadParameter("a job needs a minute at least", param_hint="--time-limit")
    if package and forge is None:
        raise click.UsageError("--package is for workflow files: say --ci github or --ci gitlab, too")
    if not package.isprintable():
        raise click.BadParameter("it has to be one line", param_hint="--package")
    request = ProjectFileRequest(forge, package, int(time_limit), may_overwrite=force, is_dry=dry_run)
    project_file = anyio.run(write_project_file, Options(repo), request)
    print_document(project_file, _render_project_file(project_file), as_json)
    if not project_file.is_written and not as_json:
        print_message(f"nothing was written; it would go to {project_file.file}")


def _render_project_file(project_file: ProjectFile) -> list[str]:
    if not project_file.is_written:
        return project_file.text.splitlines()
    lines = [f"wrote {project_file.file}", *(f"  {line}" for line in project_file.found)]
    return [*lines, *(f"next: {line}" for line in project_file.to_do)]
