"""Recipes: what a migration changes, how, and what must hold afterwards. Strict TOML, schema 1."""

from orchestrator.migrate.recipe.landing import MergeRules, StopRules
from orchestrator.migrate.recipe.locating import locate_problems
from orchestrator.migrate.recipe.model import Recipe
from orchestrator.migrate.recipe.reading import load_recipe, parse_recipe
from orchestrator.migrate.recipe.scope import RecipeEnv, Scope, Site
from orchestrator.migrate.recipe.shard import Sample, ShardRules
from orchestrator.migrate.recipe.step import Step
from orchestrator.migrate.recipe.verify import Invariant, Verify, VerifyCheck

__all__ = [
    "Invariant",
    "MergeRules",
    "Recipe",
    "RecipeEnv",
    "Sample",
    "Scope",
    "ShardRules",
    "Site",
    "Step",
    "StopRules",
    "Verify",
    "VerifyCheck",
    "load_recipe",
    "locate_problems",
    "parse_recipe",
]
