"""The keys of a recipe as a page of Markdown: made of the same schema as what editors show."""

from collections.abc import Iterator, Mapping
from typing import Any

from orchestrator.config.schema_hints import describe_allowed_values
from orchestrator.migrate.recipe.json_schema import TABLES, build_recipe_schema

_HEAD = """# Recipes: every key

A recipe is a TOML file, schema 1. An unknown key is an error. `orchestrate migrate init` writes one that fits a
repository, and `orchestrate migrate schema --out recipe.schema.json` the schema for editors, which is named in the
first line of a recipe: `#:schema ./recipe.schema.json`. This page is made of that schema; a test keeps it so.
"""
_LISTS = {"scope.site", "step", "verify.check", "invariant"}


def render_key_reference() -> str:
    """The whole page."""
    schema = build_recipe_schema()
    return "\n".join([_HEAD, *(line for table in TABLES for line in _table(schema, table))])


def _table(schema: Mapping[str, Any], name: str) -> Iterator[str]:
    if TABLES[name]:
        node = schema["$defs"][TABLES[name]]
    else:
        node = schema
    if name in _LISTS:
        brackets = f"[[{name}]]"
    else:
        brackets = f"[{name}]"
    yield f"## {f'`{brackets}`' if TABLES[name] else 'Top level'}\n"
    if TABLES[name]:
        yield f"{_after_name(node['description'])}\n"
    yield "| key | value | default | |"
    yield "|---|---|---|---|"
    for key, value in node["properties"].items():
        must = key in node.get("required", ())
        if must:
            default = "**required**"
        else:
            default = _default(value)
        yield f"| `{key}` | {_cell(describe_allowed_values(schema, value))} | {default} | {_cell(value['description'])} |"
    yield ""


def _after_name(docstring: str) -> str:
    """A table's docstring without the name of the table it begins with."""
    head, colon, rest = docstring.partition("`: ")
    if colon and head.startswith("`["):
        return rest[:1].upper() + rest[1:]
    return docstring


def _default(value: Mapping[str, Any]) -> str:
    default = value.get("default")
    if default in (None, "", [], {}):
        return ""
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"


def _cell(text: str) -> str:
    """As one cell of a table; `<` is text outside code."""
    parts = text.replace("|", "\\|").replace("\n\n", " ").split("`")
    return "`".join(part if number % 2 else part.replace("<", "&lt;") for number, part in enumerate(parts))
