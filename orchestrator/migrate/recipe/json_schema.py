"""Recipes as JSON Schema, for editors that complete and check TOML (`#:schema FILE` in the first line, as taplo reads).

What each key means stands in `keys.toml`, by tables; it is also what the reference in the documentation is made of.
"""

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from orchestrator.domain.recipe.model import Recipe

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
