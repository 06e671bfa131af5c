"""What a program says it used: dollars and tokens, as far as it tells, and never more than can be believed."""

import json
import re
from typing import Any

from orchestrator.agent.guests.pieces import UNKNOWN_USAGE
from orchestrator.config.engines import EngineSettings, UsagePaths, parse_dollars
from orchestrator.domain.budget.usage import Usage

_MAX_TOKENS = 10**10


def read_told_usage(engine: EngineSettings, output: str) -> Usage:
    """Return what the output of a program says it used; the last thing that it says counts."""
    if engine.cost_pattern:
        amounts = re.findall(engine.cost_pattern, output)
        return build_usage(amounts[-1] if amounts else None)
    paths = engine.usage
    if not any(paths.model_dump().values()):
        return UNKNOWN_USAGE
    for line in reversed(output.splitlines()):
        if (found := _read_line(line, paths)) is not None:
            return found
    return UNKNOWN_USAGE


def build_usage(dollars: object, input_tokens: object = 0, output_tokens: object = 0) -> Usage:
    """Return what was used by one call of which a guest tells this; an amount that cannot be is unknown."""
    cost = None if dollars is None else parse_dollars(dollars)
    tokens = {"input_tokens": _read_count(input_tokens), "output_tokens": _read_count(output_tokens)}
    if cost is None:
        return UNKNOWN_USAGE.model_copy(update=tokens)
    return Usage(calls=1, cost_usd=cost, **tokens)


def _read_count(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MAX_TOKENS:
        return value
    return 0


def _read_line(line: str, paths: UsagePaths) -> Usage | None:
    """Return what a line says; None if it is no JSON, or has none of what is looked for."""
    if not line.lstrip().startswith("{"):
        return None
    try:
        document = json.loads(line)
    except ValueError:
        return None
    found = [_find_value(document, path) for path in (paths.cost_usd, paths.input_tokens, paths.output_tokens)]
    if all(value is None for value in found):
        return None
    return build_usage(*found)


def _find_value(document: Any, path: str) -> object:  # noqa: ANN401  any JSON
    if not path:
        return None
    for key in path.split("."):
        if not isinstance(document, dict):
            return None
        document = document.get(key)
    return document
