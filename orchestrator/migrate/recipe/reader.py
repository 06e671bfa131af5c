"""Reading recipes from TOML, with errors that name file, line, key and what is allowed.

Instructions of model steps and rules of ast-grep may stand in files beside the recipe. They become part of it when it
is read, so a run does not change when somebody edits the file, and the recipe's revision tells that it was edited.
"""

import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from orchestrator.config.toml_source import TomlKey, describe_toml_errors, find_key_line, format_dotted_key, read_toml
from orchestrator.domain.recipe.merge import TITLE_PLACEHOLDERS
from orchestrator.domain.recipe.model import Recipe
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.errors import UsageProblem

_PROMPT_FILE = compile_lazily(r"\S+\.(?:md|txt)\Z")
_PLACEHOLDER = compile_lazily(r"\{(?:migration|shard)\.[^{}]*\}")
_MOST_CHARS = 100_000
_ENGINE_KEYS = {"language": "ast-grep", "run": "command"}
"""Keys of a site, each with the only engine that reads it."""
_RULE_ADVICE = "; name a file with an ast-grep rule, or write the rule itself over several lines"


@contextmanager
def locate_problems(path: Path) -> Iterator[None]:
    """Name file, line and key in what is wrong with a key of this recipe while it is read or followed.

    What stands elsewhere, such as in the user's configuration, stays as it is.
    """
    try:
        yield
    except UsageProblem as problem:
        if problem.key and (where := _find_place(path, problem.key)):
            problem.args = (f"{where}: {problem}",)
            problem.key = ()
        raise


def _find_place(path: Path, parts: TomlKey) -> str:
    """Return file, line and key; empty if the file does not have the key."""
    try:
        source = path.read_text(encoding="utf-8")
        key = _find_written_key(tomllib.loads(source), parts)
    except (OSError, ValueError):
        return ""
    return f"{path}:{find_key_line(source, key)}: {format_dotted_key(key)}" if key else ""


def _find_written_key(values: Any, parts: TomlKey) -> TomlKey:  # noqa: ANN401
    """Return the key as the file has it; empty if it does not have it."""
    key: TomlKey = ()
    for part in parts:
        if not (found := _find_below(values, part)):
            return ()
        for one in found:
            values = values[one]
        key = (*key, *found)
    return key


def _find_below(values: object, part: str | int) -> TomlKey:
    """Return what a part names: a key, the table of a list with this id or index, or the entry with this text."""
    if isinstance(values, dict):
        if part in values:
            return (part,)
        for name, entries in values.items():
            if isinstance(entries, list) and part in entries:
                return (name, entries.index(part))
    if isinstance(values, list):
        for place, entry in enumerate(values):
            if part in (place, entry) or (isinstance(entry, dict) and entry.get("id") == part):
                return (place,)
    return ()


def load_recipe(path: Path) -> Recipe:
    """Read a recipe, with the texts of the files that it names. Blocks.

    Raises:
        UsageProblem: names file, line and key of everything that is wrong.
    """
    with locate_problems(path):
        return parse_recipe(_inline_files(read_toml(path), path.parent), path)


def parse_recipe(values: Mapping[str, Any], path: Path) -> Recipe:
    """Return a recipe from parsed TOML; `path` is the file it came from.

    Raises:
        UsageProblem: names file, line and key of everything that is wrong, or that would do nothing.
    """
    try:
        recipe = Recipe.model_validate(values)
    except ValidationError as error:
        raise UsageProblem(describe_toml_errors(error, path, path.read_text(encoding="utf-8"), Recipe)) from error
    if idle := list(find_unused_keys(recipe)):
        source = path.read_text(encoding="utf-8")
        places = [f"{path}:{find_key_line(source, key)}: {format_dotted_key(key)}: {reason}" for key, reason in idle]
        raise UsageProblem("\n".join(places))
    return recipe


def _inline_files(values: Mapping[str, Any], directory: Path) -> Mapping[str, Any]:
    """Return the recipe's values with the text of each rule and prompt in place of the name of its file.

    Raises:
        UsageProblem: such a file cannot be read.
    """
    steps = values.get("step")
    if not isinstance(steps, list):
        return values
    inlined = []
    for number, step in enumerate(steps):
        texts = _read_files(step, number, directory) if isinstance(step, dict) else {}
        inlined.append({**step, **texts} if texts else step)
    return {**values, "step": inlined}


def _read_files(step: Mapping[str, object], number: int, directory: Path) -> dict[str, str]:
    """Return the texts of the files that a step names, by key."""
    texts, prompt, rule = {}, step.get("prompt"), step.get("rule")
    if isinstance(prompt, str) and _PROMPT_FILE.match(prompt):
        try:
            texts["prompt"] = _read_prompt(directory, prompt)
        except (OSError, ValueError) as error:
            reason = f"{prompt} cannot be used: {_explain(error)}"
            raise UsageProblem(reason, ("step", number, "prompt")) from error
    if isinstance(rule, str) and rule.strip() and "\n" not in rule:
        try:
            texts["rule"] = (directory / rule).read_text(encoding="utf-8").rstrip() + "\n"
        except (OSError, ValueError) as error:
            reason = f"{rule} cannot be read beside the recipe: {_explain(error)}{_RULE_ADVICE}"
            raise UsageProblem(reason, ("step", number, "rule")) from error
    return texts


def _explain(error: OSError | ValueError) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8"
    return str(error)


def _read_prompt(directory: Path, name: str) -> str:
    """Return the text of a file with instructions.

    Raises:
        OSError: it cannot be read.
        ValueError: it does not lie beside or below the recipe, is too long, or is not UTF-8.
    """
    file = (directory / name).resolve()
    if not file.is_relative_to(directory.resolve()):
        raise ValueError("it does not lie beside or below the recipe")
    text = file.read_text(encoding="utf-8")
    if len(text) > _MOST_CHARS:
        raise ValueError(f"it has more than {_MOST_CHARS:,} characters")
    return text


def find_unused_keys(recipe: Recipe) -> Iterator[tuple[TomlKey, str]]:
    """Yield each key that would do nothing as the recipe stands, and why.

    They are looked for in files only: a run that was begun by such a recipe goes on by it.
    """
    for number, site in enumerate(recipe.scope.site):
        for key, engine in _ENGINE_KEYS.items():
            if getattr(site, key) and site.engine != engine:
                yield ("scope", "site", number, key), f"goes with engine = {engine!r}"
    if recipe.shard.run and "command" not in recipe.shard.by:
        yield ("shard", "run"), 'goes with by = ["command"]'
    if recipe.sample.paths and recipe.sample.pick != "list":
        yield ("sample", "paths"), "goes with pick = 'list'"
    for number, check in enumerate(recipe.verify.check):
        if check.select and check.tests != "command":
            yield ("verify", "check", number, "select"), "goes with tests = 'command'"
    for word in _PLACEHOLDER.findall(recipe.merge.title):
        if word not in TITLE_PLACEHOLDERS:
            yield ("merge", "title"), f"{word} stands for nothing: write one of {', '.join(TITLE_PLACEHOLDERS)}"
