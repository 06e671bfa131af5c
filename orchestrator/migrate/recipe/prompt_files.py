"""Instructions of model steps that stand in files beside the recipe: they become part of it when it is read.

So a run does not change when somebody edits the file, and the recipe's revision tells that it was edited.
"""

import re
from pathlib import Path
from typing import Any

from orchestrator.errors import UsageProblem

_FILE_NAME = re.compile(r"\S+\.(?:md|txt)\Z")
_MOST_CHARS = 100_000


def inline_prompts(values: dict[str, Any], path: Path) -> dict[str, Any]:
    """The recipe's values with the text of each `prompt` that names a file (`….md`, `….txt`) in its place. Blocks.

    Raises:
        UsageProblem: such a file cannot be read, or does not lie beside or below the recipe.
    """
    steps = values.get("step")
    if not isinstance(steps, list):
        return values
    return values | {"step": [_inlined(step, place, path) for place, step in enumerate(steps)]}


def _inlined(step: object, place: int, path: Path) -> object:
    name = step.get("prompt") if isinstance(step, dict) else None
    if not isinstance(step, dict) or not isinstance(name, str) or not _FILE_NAME.match(name):
        return step
    try:
        return step | {"prompt": _read(path.parent, name)}
    except (OSError, ValueError) as error:
        if isinstance(error, OSError):
            why = error.strerror
        else:
            why = str(error)
        raise UsageProblem(f"{name} cannot be used: {why}", ("step", place, "prompt")) from error


def _read(directory: Path, name: str) -> str:
    file = (directory / name).resolve()
    if not file.is_relative_to(directory.resolve()):
        raise ValueError("it does not lie beside or below the recipe")
    text = file.read_text(encoding="utf-8")
    if len(text) > _MOST_CHARS:
        raise ValueError(f"it has more than {_MOST_CHARS:,} characters")
    return text
