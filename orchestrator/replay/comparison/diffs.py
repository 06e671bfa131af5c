"""The first difference between two conversations or values, in a form that a person can read."""

from collections.abc import Iterator, Sequence
from difflib import unified_diff
from itertools import zip_longest
from textwrap import wrap
from typing import Any

from orchestrator.domain.chat import Message
from orchestrator.llm.text_normalization import normalize_message

_WIDTH = 160
_LINES = 40


def find_changed_message(then: Sequence[Message], now: Sequence[Message]) -> tuple[str, tuple[str, ...]] | None:
    """Return which message is the first that differs, and a short diff of it; None if all are the same."""
    for number, (one, other) in enumerate(zip_longest(then, now)):
        before, after = one and normalize_message(one), other and normalize_message(other)
        if before != after:
            role = getattr(one or other, "role", "?")
            return f"message {number} ({role})", build_short_diff(_shown(before), _shown(after))
    return None


def build_short_diff(then: str, now: str) -> tuple[str, ...]:
    """Return the beginning of the unified diff of two texts; long lines are folded."""
    lines = list(unified_diff(_folded(then), _folded(now), "recorded", "replayed", lineterm="", n=2))
    rest = [f"[{len(lines) - _LINES} more lines]"] if len(lines) > _LINES else []
    return tuple(lines[:_LINES] + rest)


def find_value_difference(then: Any, now: Any, at: str = "") -> tuple[str, Any, Any] | None:  # noqa: ANN401
    """Return the path of the first difference between two JSON values, and what stands there in each; None if equal."""
    if isinstance(then, dict) and isinstance(now, dict):
        keys = dict.fromkeys([*then, *now])
        pairs: Iterator[tuple[str, Any, Any]] = ((f"{at}.{key}", then.get(key), now.get(key)) for key in keys)
    elif isinstance(then, list) and isinstance(now, list):
        pairs = ((f"{at}[{number}]", one, other) for number, (one, other) in enumerate(zip_longest(then, now)))
    else:
        if then == now and type(then) is type(now):
            return None
        return (at.lstrip("."), then, now)
    return next((found for path, one, other in pairs if (found := find_value_difference(one, other, path))), None)


def _shown(message: Message | None) -> str:
    if message is None:
        return ""
    calls = []
    for call in message.tool_calls:
        calls.append(f"[{call.name}] {call.arguments}")
    return "\n".join([message.text, *calls])


def _folded(text: str) -> list[str]:
    return [part for line in text.split("\n") for part in wrap(line, _WIDTH, drop_whitespace=False) or [""]]
