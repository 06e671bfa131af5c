"""The JSON Schema of recipes: complete, kept in the documentation, and of the same mind as the reader."""

import json
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from orchestrator.migrate.recipe.json_schema import (
    STEP_TABLES,
    TABLES,
    build_recipe_schema,
    load_key_meanings,
    select_table,
)
from tests.golden import check_golden
from tools.recipe_reference import render_key_reference

ROOT = Path(__file__).parents[3]
RECIPES = sorted((ROOT / "examples" / "recipes").glob("*.toml"))


def tables() -> dict[str, Any]:
    schema = build_recipe_schema()
    return {name: select_table(schema, name) for name in TABLES}


def test_every_key_of_every_table_is_explained_and_nothing_else() -> None:
    known = load_key_meanings()
    common = known.pop("step")
    meanings = {name: [*common, *keys] if name in STEP_TABLES else [*keys] for name, keys in known.items()}
    assert {name: list(table["properties"]) for name, table in tables().items()} == meanings
    assert set(build_recipe_schema()["$defs"]) - {"ReportFormat"} == set(TABLES.values()) - {""}


@pytest.mark.parametrize("table", TABLES)
def test_no_table_takes_an_unknown_key(table: str) -> None:
    assert tables()[table]["additionalProperties"] is False


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_recipes_that_can_be_read_obey_it(path: Path) -> None:
    validator = jsonschema.validators.validator_for(build_recipe_schema())(build_recipe_schema())
    assert list(validator.iter_errors(tomllib.loads(path.read_text()))) == []


@pytest.mark.parametrize(
    "wrong",
    [{"step": []}, {"extra": 1}, {"migration": {"id": "A B"}}, {"schema": 2}, {"stop": {"same_signature": -1}}],
    ids=str,
)
def test_what_the_reader_refuses_it_refuses(wrong: dict[str, Any]) -> None:
    right = tomllib.loads(RECIPES[0].read_text())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(right | wrong, build_recipe_schema())


def test_the_documentation_has_the_schema_and_the_reference_as_they_are() -> None:
    schema = json.dumps(build_recipe_schema(), indent=1, ensure_ascii=False) + "\n"
    check_golden("../../docs/migrations/recipe.schema.json", schema)
    check_golden("../../docs/migrations/reference.md", render_key_reference())
