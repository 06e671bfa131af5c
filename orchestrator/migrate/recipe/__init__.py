"""Recipes: what a migration changes, how, and what must hold afterwards. Strict TOML, schema 1."""

from orchestrator.domain.recipe.merge import MergeRules, StopRules
from orchestrator.domain.recipe.model import Recipe
from orchestrator.domain.recipe.scope import RecipeEnv, Scope, Site
from orchestrator.domain.recipe.shard import Sample, ShardRules
from orchestrator.domain.recipe.step import Step
from orchestrator.domain.recipe.verify import Invariant, Verify, VerifyCheck
from orchestrator.migrate.recipe.error_location import locate_problems
from orchestrator.migrate.recipe.reader import load_recipe, parse_recipe

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
