"""Reading recipes from TOML, with errors that name file, line, key and what is allowed."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from orchestrator.config.toml import describe, read_toml
from orchestrator.errors import UsageProblem
from orchestrator.migrate.recipe.model import Recipe


def load_recipe(path: Path) -> Recipe:
    """Read a recipe.

    Raises:
        UsageProblem: names file, line and key of everything that is wrong.
    """
    return parse_recipe(read_toml(path), path)


def parse_recipe(values: Mapping[str, Any], path: Path) -> Recipe:
    """A recipe from parsed TOML; `path` is the file it came from."""
    try:
        return Recipe.model_validate(values)
    except ValidationError as error:
        raise UsageProblem(describe(error, path, path.read_text(encoding="utf-8"), Recipe)) from error
