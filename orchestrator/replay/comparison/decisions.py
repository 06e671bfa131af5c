"""The decision of a reply, in a line, and the first difference between two."""

from collections.abc import Iterator, Mapping
from typing import Any

from orchestrator.domain.chat import Reply, ToolCall
from orchestrator.domain.text.encoding import decode_json
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.replay.comparison.diffs import find_value_difference

_SHOWN = 120


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
