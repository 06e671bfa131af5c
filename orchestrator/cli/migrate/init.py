"""`orchestrate migrate init` and `orchestrate migrate schema`: what is needed to write a recipe."""

import json
from pathlib import Path

import anyio
import click

from orchestrator.cli.arguments import DIRECTORY, FILE, json_option
from orchestrator.cli.documents import RecipeSchemaDocument, TemplateRow, TemplatesDocument
from orchestrator.cli.output import print_document
from orchestrator.migrate.bundled import load_templates
from orchestrator.migrate.recipe.json_schema import build_recipe_schema
from orchestrator.project.options import Options
from orchestrator.scaffold.recipe_file import RecipeRequest, write_recipe_file


@click.command("init")
@click.argument("file", type=FILE, required=False)
@click.option("--from", "template", default="", metavar="NAME", help="The recipe to begin with: see --list.")
@click.option("--goal", default="", metavar="TEXT", help="A change in words, for a model; goes with --pattern.")
@click.option("--pattern", default="", metavar="REGEX", help="What a site looks like: the places to be changed.")
@click.option("--list", "listing", is_flag=True, help="Show the recipes that there are.")
@click.option("--force", is_flag=True, help="Overwrite FILE.")
@click.option("--repo", type=DIRECTORY, default=Path(), help="The repository.")
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


@click.command("schema")
@click.option("--out", type=FILE, help="Write it to this file.")
@json_option
def schema_command(out: Path | None, as_json: bool) -> None:
    """Print the JSON Schema of recipes, with which editors complete and check them.

    \b
    orchestrate migrate schema --out recipe.schema.json
    and in the first line of a recipe: #:schema ./recipe.schema.json
    """
    text = json.dumps(build_recipe_schema(), indent=1, ensure_ascii=False)
    if out is None:
        click.echo(text)
        return
    out.write_text(text + "\n", encoding="utf-8")
    lines = [f"wrote {out}; for editors, the first line of a recipe: #:schema {out}"]
    print_document(RecipeSchemaDocument(file=out), lines, as_json)
