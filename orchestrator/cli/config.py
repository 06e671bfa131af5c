"""`orchestrate config`."""

from pathlib import Path
from typing import Any

import click

from orchestrator.cli.finding import top_of
from orchestrator.cli.options import as_json, configured, settings_of
from orchestrator.cli.output import print_object
from orchestrator.config.layers import leaves, load
from orchestrator.config.toml import dotted
from orchestrator.errors import UsageProblem


@click.group("config")
def command() -> None:
    """Show the configuration.

    \b
    orchestrate config show --origin
    """


@command.command("show")
@click.option("--repo", type=click.Path(path_type=Path, file_okay=False), default=Path(), help="The repository.")
@click.option("--origin", is_flag=True, help="Say where each value comes from.")
@configured
@as_json
def show(repo: Path, origin: bool, settings: tuple[str, ...], trust_project: bool, as_json: bool) -> None:
    """Print every value as it would be used here.

    \b
    orchestrate config show --origin
    orchestrate config show --set run.max_workers=8 --json
    """
    loaded = load(_project(repo), settings_of(settings), trust_project=trust_project)
    values: dict[str, Any] = loaded.config.model_dump(mode="json", by_alias=True)
    if as_json:
        origins = {"origins": dict(loaded.origins)} if origin else {}
        print_object({"schema": "orchestrate.config/1", "values": values} | origins)
        return
    for key, value in leaves(values):
        name = dotted(key)
        came = f"  # {loaded.origins.get(name, 'inherited')}" if origin else ""
        click.echo(f"{name} = {value!r}{came}")


def _project(repo: Path) -> Path | None:
    try:
        return top_of(repo)
    except UsageProblem:
        return None
