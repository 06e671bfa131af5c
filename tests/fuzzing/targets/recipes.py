"""Recipes, through `migrate plan` and what writes and compares them."""

import tomllib
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from orchestrator.domain.recipe.model import Recipe
from orchestrator.errors import UsageProblem
from orchestrator.migrate.recipe.reader import load_recipe
from orchestrator.migrate.recipe.toml_writer import diff_recipes, render_recipe
from tests.fuzzing.ground import RECIPE, Ground
from tests.fuzzing.mutations import encode_toml, mutate_bytes, mutate_document
from tests.fuzzing.target import Given, Target

_ROOT = Path(__file__).parents[3]


@cache
def _read_seeds() -> list[dict[str, Any]]:
    paths = sorted((_ROOT / "examples" / "recipes").glob("*.toml"))
    paths += sorted((_ROOT / "orchestrator").rglob("recipes/*.toml"))
    return [tomllib.loads(RECIPE), *(tomllib.loads(path.read_text()) for path in paths)]


def _make_case(chance: Random) -> Given:
    content = encode_toml(mutate_document(chance, chance.choice(_read_seeds())))
    if chance.random() < 0.3:
        content = mutate_bytes(chance, content)
    verb = chance.choice(("read", "read", "plan"))
    return [verb, content]


def _run_case(given: Given, place: Path) -> None:
    verb, content = given
    path = place / "odd.toml"
    path.write_bytes(content)
    if verb == "plan":
        ground = Ground(place)
        ground.call_verb("migrate", "plan", str(path), *ground.where)
        return
    try:
        recipe = load_recipe(path)
    except UsageProblem:
        return
    assert Recipe.model_validate(tomllib.loads(render_recipe(recipe))) == recipe
    diff_recipes(recipe, recipe)


TARGET = Target("recipes", _make_case, _run_case, has_ground=True)
