"""`orchestrate migrate init`."""

from pathlib import Path

import anyio
import click

from orchestrator.cli.documents import TemplateRow, TemplatesDocument
from orchestrator.cli.options import json_option
from orchestrator.cli.output import print_document
from orchestrator.migrate.bundled import load_templates
from orchestrator.project.options import Options
from orchestrator.scaffold.recipe_file import RecipeRequest, write_recipe_file


@click.command("init")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False), required=False)
@click.option("--from", "template", default="", metavar="NAME", help="The recipe to begin with: see --list.")
@click.option("--goal", default="", metavar="TEXT", help="A change in words, for a model; goes with --pattern.")
@click.option("--pattern", default="", metavar="REGEX", help="What a site looks like: the places to be changed.")
@click.option("--list", "listing", is_flag=True, help="Show the recipes that there are.")
@click.option("--force", is_flag=True, help="Overwrite FILE.")
@click.option("--repo", type=click.Path(path_type=Path, file_okay=False), default=Path(), help="The repository.")
@json_option
def init_command(
    file: Path | None, template: str, goal: str, pattern: str, listing: bool, force: bool, repo: Path, as_json: bool
) -> None:
    """Write a recipe for this repository, with its test command, directories, owners and environment filled in.

    \b
    orchestrate migrate init --list
    orchestrate migrate init --from pyupgrade
    orchestrate migrate init --goal "use httpx in place of requests" --pattern '\\brequests\\.'
    orchestrate migrate init mine.toml --pattern 'old_name\\('      a codemod of your own
    """
    if listing:
        _list_templates(as_json)
        return
    started = anyio.run(write_recipe_file, Options(repo), RecipeRequest(template, goal, pattern), file, force)
    print_document(started, started.render_lines(), as_json)


def _list_templates(as_json: bool) -> None:
    known = load_templates().values()
    rows = tuple(TemplateRow.model_validate(template, from_attributes=True) for template in known)
    lines = (f"{template.name:20} {template.summary}" for template in known)
    print_document(TemplatesDocument(recipes=rows), lines, as_json)
