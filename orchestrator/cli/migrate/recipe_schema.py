"""`orchestrate migrate schema`."""

import json
from pathlib import Path

import click

from orchestrator.cli.documents import RecipeSchemaDocument
from orchestrator.cli.options import json_option
from orchestrator.cli.output import print_document
from orchestrator.migrate.recipe.json_schema import build_recipe_schema


@click.command("schema")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write it to this file.")
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
