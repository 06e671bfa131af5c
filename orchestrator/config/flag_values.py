"""Single values from flags and the environment. Kept apart from the model, so that light verbs need not load it."""

from collections.abc import Sequence
from typing import Any

from orchestrator.domain.text.encoding import decode_json
from orchestrator.errors import UsageProblem


def set_nested_value(values: dict[str, Any], path: Sequence[str], value: object) -> None:
    """Put a value at a path of keys, making tables on the way.

    Raises:
        UsageProblem: the path leads through something that is no table.
    """
    for part in path[:-1]:
        values = values.setdefault(part, {})
        if not isinstance(values, dict):
            raise UsageProblem(f"{'.'.join(path)}: {part} is set to a value already and cannot hold {path[-1]}")
    values[path[-1]] = value


def parse_flag_value(text: str) -> object:
    """Return a value from the environment or a flag: parsed if it is JSON (numbers, lists, true), else the text."""
    try:
        value: object = decode_json(text)
    except ValueError:
        return text
    return value
