"""`orchestrate config`."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from orchestrator.cli.arguments import DIRECTORY, config_options, json_option
from orchestrator.cli.documents import ConfigDocument, SchemaRow, SchemasDocument
from orchestrator.cli.flags import Flags
from orchestrator.cli.output import print_document, print_object
from orchestrator.cli.run_lookup import find_project_root
from orchestrator.config.layers import iterate_leaf_values, load_config
from orchestrator.config.toml_source import format_dotted_key
from orchestrator.domain.budget.limits import Limit
from orchestrator.domain.text.money import UNLIMITED
from orchestrator.errors import UsageProblem


@click.group("config")
def config_command() -> None:
    """Show the configuration, and the shape of what verbs print with --json.

    \b
    orchestrate config show --origin
    orchestrate config schema status
    """


@config_command.command("show")
@click.option("--repo", type=DIRECTORY, default=Path(), help="The repository.")
@click.option("--origin", is_flag=True, help="Say where each value comes from.")
@config_options
@json_option
def show_command(repo: Path, origin: bool, settings: tuple[str, ...], trust_project: bool, as_json: bool) -> None:
    """Print every value as it would be used here.

    \b
    orchestrate config show --origin
    orchestrate config show --set run.max_workers=8 --json
    """
    loaded = load_config(find_project_root(repo), Flags(settings).values, trust_project=trust_project)
    values = loaded.config.model_dump(mode="json", by_alias=True)
    if as_json:
        print_object(ConfigDocument(values=values, origins=dict(loaded.origins) if origin else None).as_object())
        return
    for key, value in iterate_leaf_values(values):
        name = format_dotted_key(key)
        origin_note = f"  # {loaded.origins.get(name, 'inherited')}" if origin else ""
        click.echo(f"{name} = {_show_value(key, value)!r}{origin_note}")


def _show_value(key: Sequence[str], value: object) -> object:
    """Return the value as it would be written in a file."""
    is_limit = key[0] == "budget" and key[-1] in Limit.model_fields
    return UNLIMITED if is_limit and value == 0 else value


@config_command.command("schema")
@click.argument("name", required=False)
@json_option
def schema_command(name: str | None, as_json: bool) -> None:
    """Print the JSON Schema of what a verb prints with --json; without NAME all names there are.

    NAME is what the object gives as its `schema`, or the part of it between `orchestrate.` and the number.

    \b
    orchestrate config schema
    orchestrate config schema orchestrate.result/1 > result.schema.json
    orchestrate config schema status
    """
    from orchestrator.cli.schemas import SCHEMAS

    if name is not None:
        print_object(SCHEMAS[_resolve_schema_name(name, SCHEMAS)])
        return
    rows = tuple(SchemaRow(name=known, printed_by=schema["description"]) for known, schema in SCHEMAS.items())
    print_document(SchemasDocument(schemas=rows), (f"{row.name:32} {row.printed_by}" for row in rows), as_json)


def _resolve_schema_name(name: str, known: Iterable[str]) -> str:
    """Return the whole name of a schema; the newest version if no number is given."""
    matches = []
    for full in known:
        if name in (full, full.removeprefix("orchestrate.").rpartition("/")[0]):
            matches.append(full)
    if not matches:
        raise UsageProblem(f"nothing is printed under the name {name!r}: see orchestrate config schema")
    return max(matches)
