"""Recipes as JSON Schema, for editors that check TOML (`#:schema FILE` in the first line), and their keys as Markdown.

What each key means stands in `keys.toml`, by tables.
"""

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from inspect import cleandoc
from typing import Any, get_args

from orchestrator.config.schema_hints import describe_allowed_values
from orchestrator.domain.recipe.model import Recipe
from orchestrator.domain.recipe.step import StepKeys, StepKind

DIALECT = "https://json-schema.org/draft/2020-12/schema"
TABLES: Mapping[str, str] = {
    "recipe": "",
    "migration": "Migration",
    "scope": "Scope",
    "scope.site": "Site",
    "env": "RecipeEnv",
    "shard": "ShardRules",
    "sample": "Sample",
    "step.command": "CommandStep",
    "step.rewrite": "RewriteStep",
    "step.llm": "ModelStep",
    "step.human": "HumanStep",
    "verify": "Verify",
    "verify.check": "VerifyCheck",
    "invariant": "Invariant",
    "judge": "JudgeRules",
    "merge": "MergeRules",
    "stop": "StopRules",
}
"""Tables of a recipe, in the order of the reference, each with the name of its definition; the whole has none."""
STEP_TABLES = frozenset({"step.command", "step.rewrite", "step.llm", "step.human"})
"""The tables of `[[step]]`, one for each kind; the meanings of the keys that all of them have stand under `step`."""


def load_key_meanings() -> dict[str, dict[str, str]]:
    """Return what each key means, by table; `step` has the keys of every kind of step."""
    text = (files("orchestrator.migrate.recipe") / "keys.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def select_table(schema: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the part of a recipe's schema that describes one of `TABLES`."""
    if TABLES[name]:
        schema = schema["$defs"][TABLES[name]]
    return dict(schema)


def build_recipe_schema() -> dict[str, Any]:
    """Return the JSON Schema of a recipe, with a description of every key."""
    schema, meanings = Recipe.model_json_schema(by_alias=True), load_key_meanings()
    for name in TABLES:
        told = meanings[name]
        if name in STEP_TABLES:
            told = meanings["step"] | told
        for key, meaning in told.items():
            select_table(schema, name)["properties"][key]["description"] = meaning
    return {"$schema": DIALECT, "title": "Recipe of orchestrate migrate", **_tidy(schema)}


def _tidy(node: Any, is_table: bool = False) -> Any:  # noqa: ANN401
    """Return a node without the titles that pydantic makes of names, and with docstrings as paragraphs.

    In a `properties` table the keys are those of recipes, one of which is called title.
    """
    if isinstance(node, list):
        return list(map(_tidy, node))
    if not isinstance(node, dict):
        return node
    kept = {}
    for name, value in node.items():
        kept[name] = _tidy(value, name in {"properties", "$defs"})
    if not is_table:
        kept.pop("title", None)
        if "description" in kept:
            kept["description"] = _join_lines(kept["description"])
    return kept


def _join_lines(text: str) -> str:
    """Return a docstring with each paragraph on one line."""
    paragraphs = (" ".join(paragraph.split()) for paragraph in text.split("\n\n"))
    return "\n\n".join(paragraphs)


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
    return rest[:1].upper() + rest[1:] if colon and head.startswith("`[") else docstring


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
