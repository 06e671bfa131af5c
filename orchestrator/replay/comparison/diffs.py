"""The first difference between two conversations, values or decisions, in a form that a person can read."""

from collections.abc import Iterator, Mapping, Sequence
from difflib import unified_diff
from itertools import zip_longest
from textwrap import wrap
from typing import Any

from orchestrator.domain.chat import Message, Reply, ToolCall
from orchestrator.domain.text.encoding import decode_json
from orchestrator.domain.text.sanitization import to_one_line

_WIDTH = 160
_LINES = 40
_SHOWN = 120


def find_changed_message(then: Sequence[Message], now: Sequence[Message]) -> tuple[str, tuple[str, ...]] | None:
    """Return which message is the first that differs, and a short diff of it; None if all are the same."""
    for number, (one, other) in enumerate(zip_longest(then, now)):
        before, after = one and one.normalize_words(), other and other.normalize_words()
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


def describe_decision(reply: Reply) -> str:
    """Return the verdict, the plan's tasks, or the tools with what they are used on; `says …` when it uses none."""
    return to_one_line("; ".join(map(_decided, reply.tool_calls)) or f"says {reply.text!r}", 4 * _SHOWN)


def find_decision_difference(then: Reply, now: Reply) -> tuple[str, Any, Any] | None:
    """Return the path to the first difference, such as `submit_verdict.decision`, with both replies' values there."""
    found = find_value_difference(_value(then), _value(now))
    if found is None:
        return None
    path, one, other = found
    for number, call in enumerate(then.tool_calls):
        path = path.replace(f"calls[{number}].arguments", call.name, 1)
    return path, one, other


def _value(reply: Reply) -> dict[str, Any]:
    calls = []
    for call in reply.tool_calls:
        calls.append({"tool": call.name, "arguments": _arguments(call)})
    if calls:
        return {"calls": calls}
    return {"text": reply.text}


def _arguments(call: ToolCall) -> Any:  # noqa: ANN401
    try:
        return decode_json(call.arguments)
    except ValueError:
        return call.arguments


def _decided(call: ToolCall) -> str:
    given = _arguments(call)
    if not isinstance(given, Mapping):
        return f"{call.name} {call.arguments[:_SHOWN]}"
    if call.name == "submit_verdict":
        return str(given.get("decision", "no decision"))
    if call.name == "submit_plan":
        return f"plan {', '.join(_keys(given)) or 'without tasks'}"
    if call.name == "finish":
        return "finish"
    return f"{call.name} {next(_words(given), '')}".rstrip()


def _keys(plan: Mapping[str, Any]) -> Iterator[str]:
    tasks = plan.get("tasks")
    for task in tasks if isinstance(tasks, list) else ():
        yield str(task.get("key", "?")) if isinstance(task, Mapping) else "?"


def _words(given: Mapping[str, Any]) -> Iterator[str]:
    return (value[:_SHOWN] for value in given.values() if isinstance(value, str))
