"""The keys of a recipe as a page of Markdown: made of the same schema as what editors show.

The page is `docs/migrations/reference.md`.
"""

from collections.abc import Iterable, Iterator, Mapping
from inspect import cleandoc
from typing import Any, get_args

from orchestrator.config.schema_hints import describe_allowed_values
from orchestrator.domain.recipe.step import StepKeys, StepKind
from orchestrator.migrate.recipe.json_schema import (
    STEP_TABLES,
    TABLES,
    build_recipe_schema,
    load_key_meanings,
    select_table,
)

_HEAD = """# Recipes: every key

A recipe is a TOML file, schema 1. An unknown key is an error. `orchestrate migrate init` writes one that fits a
repository, and `orchestrate migrate schema --out recipe.schema.json` the schema for editors, which is named in the
first line of a recipe: `#:schema ./recipe.schema.json`. This page is made of that schema; a test keeps it so.
"""
_LISTS = {"scope.site", "verify.check", "invariant"}


def render_key_reference() -> str:
    """Return the whole page."""
    schema = build_recipe_schema()
    lines = [_HEAD]
    for name in TABLES:
        if name == "step.command":
            lines += _render_common_step_keys(schema)
        if name in STEP_TABLES:
            lines += _render_step_kind(schema, name)
        else:
            lines += _render_table(schema, name)
    return "\n".join(lines)


def _render_table(schema: Mapping[str, Any], name: str) -> Iterator[str]:
    node = select_table(schema, name)
    if not TABLES[name]:
        yield "## Top level\n"
    else:
        yield f"## `[[{name}]]`\n" if name in _LISTS else f"## `[{name}]`\n"
        yield f"{_drop_table_name(node['description'])}\n"
    yield from _render_keys(schema, node, node["properties"])


def _render_common_step_keys(schema: Mapping[str, Any]) -> Iterator[str]:
    """Yield the section of the keys that steps of every kind have."""
    node = select_table(schema, "step.command")
    kind = {**node["properties"]["kind"], "enum": list(get_args(StepKind))}
    described = {**node, "properties": {**node["properties"], "kind": kind}}
    yield "## `[[step]]`\n"
    yield " ".join(cleandoc(StepKeys.__doc__ or "").split()) + "\n"
    yield from _render_keys(schema, described, load_key_meanings()["step"])


def _render_step_kind(schema: Mapping[str, Any], name: str) -> Iterator[str]:
    node = select_table(schema, name)
    yield f"### `[[step]]` with kind = '{name.partition('.')[2]}'\n"
    yield f"{node['description']}\n"
    yield from _render_keys(schema, node, load_key_meanings()[name])


def _render_keys(schema: Mapping[str, Any], node: Mapping[str, Any], keys: Iterable[str]) -> Iterator[str]:
    """Yield a table with these keys of a table of the recipe."""
    yield "| key | value | default | |"
    yield "|---|---|---|---|"
    for key in keys:
        value = node["properties"][key]
        default = "**required**" if key in node.get("required", ()) else _format_default(value)
        allowed = _escape_cell(describe_allowed_values(schema, value))
        yield f"| `{key}` | {allowed} | {default} | {_escape_cell(value['description'])} |"
    yield ""


def _drop_table_name(docstring: str) -> str:
    """Return a table's docstring without the name of the table it begins with."""
    head, colon, rest = docstring.partition("`: ")
    if colon and head.startswith("`["):
        return rest[:1].upper() + rest[1:]
    return docstring


def _format_default(value: Mapping[str, Any]) -> str:
    default = value.get("default")
    if default in (None, "", [], {}):
        return ""
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    return f"`{default}`"


def _escape_cell(text: str) -> str:
    """Return a text as one cell of a table; `<` is text outside code."""
    parts = text.replace("|", "\\|").replace("\n\n", " ").split("`")
    parts[::2] = (part.replace("<", "&lt;") for part in parts[::2])
    return "`".join(parts)
