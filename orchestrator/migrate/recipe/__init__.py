"""Recipes: what a migration changes, how, and what must hold afterwards. Strict TOML, schema 1."""

from orchestrator.migrate.recipe.reader import load_recipe, locate_problems, parse_recipe

__all__ = ["load_recipe", "locate_problems", "parse_recipe"]
