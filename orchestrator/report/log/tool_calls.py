"""Format a tool call in a few words: its name and its most telling argument."""

import json
from typing import Any

from orchestrator.domain.text.encoding import decode_json
from orchestrator.domain.text.sanitization import to_one_line

_FIRST = ("command", "path", "pattern", "query", "reason", "summary")
_SHOWN = 300


def format_tool_call(name: str, arguments: str) -> str:
    """Return `shell  pytest -q tests` or `edit  src/log.py`: the tool and its most telling argument.

    `arguments` is JSON as a model wrote it, perhaps cut off or no JSON at all.
    """
    return f"{name}  {to_one_line(_format_telling_argument(arguments), _SHOWN)}".rstrip()


def parse_arguments(text: str) -> dict[str, Any] | None:
    """Return the arguments of a call by name; None if they are no JSON object, or nested too deep."""
    try:
        found = decode_json(text)
    except ValueError:
        return None
    if isinstance(found, dict):
        return found
    return None


def _format_telling_argument(arguments: str) -> str:
    found = parse_arguments(arguments)
    if found is None:
        return arguments[:_SHOWN]
    for key in _FIRST:
        if isinstance(found.get(key), str):
            return str(found[key])
    return ", ".join(f"{key}={format_argument_value(value)}" for key, value in found.items())


def format_argument_value(value: Any) -> str:  # noqa: ANN401
    """Return the value of an argument: a text as it is, anything else as JSON."""
    try:
        if isinstance(value, str):
            return value
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "…"
