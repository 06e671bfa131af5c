"""Reading recipes from TOML, with errors that name file, line, key and what is allowed."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from orchestrator.config.toml_source import describe_toml_errors, find_key_line, format_dotted_key, read_toml
from orchestrator.domain.recipe.model import Recipe
from orchestrator.errors import UsageProblem
from orchestrator.migrate.recipe.error_location import locate_problems
from orchestrator.migrate.recipe.prompt_files import inline_prompts
from orchestrator.migrate.recipe.unused_keys import find_unused_keys


def load_recipe(path: Path) -> Recipe:
    """Read a recipe.

    Raises:
        UsageProblem: names file, line and key of everything that is wrong.
    """
    with locate_problems(path):
        return parse_recipe(_inlined(inline_prompts(read_toml(path), path), path), path)


def _inlined(values: Mapping[str, Any], path: Path) -> Mapping[str, Any]:
    """The recipe with the text of each rule in place of the name of its file: a run rests on no file that may change.

    Raises:
        UsageProblem: there is no such file.
    """
    steps = values.get("step")
    if not isinstance(steps, list):
        return values
    return {**values, "step": [_with_rule(step, number, path) for number, step in enumerate(steps)]}


def _with_rule(step: object, number: int, path: Path) -> object:
    rule = step.get("rule") if isinstance(step, dict) else None
    if not isinstance(rule, str) or not rule.strip() or "\n" in rule:
        return step
    try:
        text = (path.parent / rule).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        if isinstance(error, OSError):
            why = error.strerror
        else:
            why = "it is not UTF-8"
        told = (
            f"{rule} cannot be read beside the recipe: {why}; name a file with an ast-grep rule, or write the rule "
            "itself over several lines"
        )
        raise UsageProblem(told, ("step", number, "rule")) from error
    if isinstance(step, dict):
        return {**step, "rule": f"{text.rstrip()}\n"}
    return step


def parse_recipe(values: Mapping[str, Any], path: Path) -> Recipe:
    """A recipe from parsed TOML; `path` is the file it came from.

    Raises:
        UsageProblem: names file, line and key of everything that is wrong, or that would do nothing.
    """
    try:
        recipe = Recipe.model_validate(values)
    except ValidationError as error:
        raise UsageProblem(describe_toml_errors(error, path, path.read_text(encoding="utf-8"), Recipe)) from error
    if idle := list(find_unused_keys(recipe)):
        source = path.read_text(encoding="utf-8")
        told = (f"{path}:{find_key_line(source, key)}: {format_dotted_key(key)}: {why}" for key, why in idle)
        raise UsageProblem("\n".join(told))
    return recipe
