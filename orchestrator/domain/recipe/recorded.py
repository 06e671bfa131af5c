"""Recipes as journals hold them: read without looking at their globs again, and readable when valid no longer.

A journal that a later program would refuse as a recipe can still be shown: whatever of it is valid is as it was.
"""

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from pydantic import PlainSerializer, PlainValidator, ValidationError

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.recipe.field_types import CHECKED_BEFORE
from orchestrator.domain.recipe.model import Migration, Recipe
from orchestrator.domain.recipe.scope import RecipeEnv, Scope, Site
from orchestrator.domain.recipe.shard import ShardRules
from orchestrator.domain.recipe.step import CommandStep
from orchestrator.domain.recipe.verify import Verify

_Table = TypeVar("_Table", bound=FrozenModel)


class InvalidRecipe(Recipe):
    """A recorded recipe that is valid no longer, as far as reports show it; `recorded` is all of it."""

    recorded: dict[str, Any]

    def dump_values(self) -> dict[str, Any]:
        """Return the recipe as it was recorded."""
        return self.recorded


def read_recorded_recipe(values: Mapping[str, Any]) -> Recipe:
    """Return the recipe that a journal holds as plain data, an `InvalidRecipe` if it is none any more."""
    try:
        return Recipe.model_validate(values, context=CHECKED_BEFORE)
    except ValidationError:
        return _read_invalid_recipe(values)


def require_valid_recipe(recipe: Recipe) -> Recipe:
    """Return a recorded recipe to work by, with all of it checked again.

    Raises:
        ValidationError: it is valid no longer.
    """
    return Recipe.model_validate(recipe.dump_values())


def _dump_recipe(recipe: Recipe) -> dict[str, Any]:
    return recipe.dump_values()


RecordedRecipe = Annotated[Recipe, PlainValidator(read_recorded_recipe), PlainSerializer(_dump_recipe)]
"""A recipe that is stored as plain data and read as journals' are."""


def _read_invalid_recipe(values: Mapping[str, Any]) -> Recipe:
    scope = values.get("scope", {})
    sites = [_read_table(Site, site, id="") for site in scope.get("site", ())]
    return InvalidRecipe.model_construct(
        recorded=dict(values),
        schema_version=1,
        migration=_read_table(Migration, values.get("migration", {}), id=""),
        scope=_read_table(Scope, {**scope, "site": tuple(sites)}, include=()),
        env=_read_table(RecipeEnv, values.get("env", {})),
        shard=_read_table(ShardRules, values.get("shard", {})),
        step=tuple(_read_table(CommandStep, step, id="") for step in values.get("step", ())),
        verify=Verify.model_construct(check=()),
    )


def _read_table(kind: type[_Table], values: Mapping[str, Any], **required: Any) -> _Table:  # noqa: ANN401
    """Return a table as its model, without a check if it is not valid."""
    try:
        return kind.model_validate(values, context=CHECKED_BEFORE)
    except ValidationError:
        return kind.model_construct(None, **(required | dict(values)))  # type: ignore[return-value]
