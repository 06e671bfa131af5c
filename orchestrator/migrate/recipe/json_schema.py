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
    "step": "Step",
    "verify": "Verify",
    "verify.check": "VerifyCheck",
    "invariant": "Invariant",
    "judge": "JudgeRules",
    "merge": "MergeRules",
    "stop": "StopRules",
}
"""Tables of a recipe, in the order of the reference, each with the name of its definition; the whole has none."""


def load_key_meanings() -> dict[str, dict[str, str]]:
    """What each key means, by table."""
    text = (files("orchestrator.migrate.recipe") / "keys.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def build_recipe_schema() -> dict[str, Any]:
    """The JSON Schema of a recipe, with a description of every key."""
    schema = Recipe.model_json_schema(by_alias=True)
    for name, meanings in load_key_meanings().items():
        if TABLES[name]:
            table = schema["$defs"][TABLES[name]]
        else:
            table = schema
        for key, meaning in meanings.items():
            table["properties"][key]["description"] = meaning
    return {"$schema": DIALECT, "title": "Recipe of orchestrate migrate", **_tidied(schema)}


def _tidied(node: Any, is_table: bool = False) -> Any:  # noqa: ANN401
    """Without the titles that pydantic makes of names, and with docstrings as paragraphs. A `properties` table has keys
    of recipes, one of which is called title.
    """
    if isinstance(node, list):
        return [_tidied(one) for one in node]
    if not isinstance(node, dict):
        return node
    kept = {}
    for name, value in node.items():
        kept[name] = _tidied(value, name in {"properties", "$defs"})
    if not is_table:
        kept.pop("title", None)
        if "description" in kept:
            kept["description"] = "\n\n".join(" ".join(text.split()) for text in kept["description"].split("\n\n"))
    return kept
