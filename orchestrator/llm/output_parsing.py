"""The parser of model output: a typed value, or words that tell the model exactly what is wrong with it."""

from collections.abc import Sequence
from typing import TypeVar

from pydantic import BaseModel, JsonValue, ValidationError
from pydantic_core import ErrorDetails

from orchestrator.domain.text.listing import limit_lines
from orchestrator.errors import MalformedReply
from orchestrator.llm.lenient_json import NotJson, may_hold_json, parse_lenient_json

T = TypeVar("T", bound=BaseModel)

MAX_PROBLEMS = 6
MAX_CHARS = 2_000
SHOWN_CHARS = 80
CONTAINER_ERRORS = frozenset(
    {"list_type", "tuple_type", "set_type", "frozen_set_type", "dict_type", "mapping_type", "model_type"}
)


def parse_json_object(text: str) -> dict[str, JsonValue]:
    """Return the JSON object that `text` holds; an empty text holds the empty object.

    Raises:
        MalformedReply: it holds none.
    """
    if not text.strip():
        return {}
    try:
        value = parse_lenient_json(text)
    except NotJson as problem:
        raise MalformedReply(_limit_text(str(problem))) from problem
    if not isinstance(value, dict):
        raise MalformedReply(f"expected a JSON object, got {_shorten_value(value)}")
    return value


def parse_arguments(text: str, model_type: type[T]) -> T:
    """Return a tool call's arguments as a `model_type`.

    Raises:
        MalformedReply: what is wrong, where, and what was expected; at most 2,000 characters, fit for the model.
    """
    return _validated(parse_json_object(text), model_type)


def _validated(value: dict[str, JsonValue], model_type: type[T]) -> T:
    try:
        return model_type.model_validate(value)
    except ValidationError as problem:
        if _unpack_strings(value, problem.errors(include_url=False)):
            return _validated(value, model_type)
        raise MalformedReply(_describe_problems(problem, model_type)) from problem


def _unpack_strings(value: dict[str, JsonValue], errors: list[ErrorDetails]) -> bool:
    """Replace a string that holds the list or object expected in its place; whether there was one."""
    return any(error["type"] in CONTAINER_ERRORS and _unpack_string(value, error["loc"]) for error in errors)


def _unpack_string(value: JsonValue, location: tuple[int | str, ...]) -> bool:
    if not location:
        return False
    for part in location[:-1]:
        value = _get_item(value, part)
    inner = _get_item(value, location[-1])
    if not isinstance(inner, str) or not may_hold_json(inner):
        return False
    try:
        unpacked = parse_lenient_json(inner)
    except NotJson:
        return False
    match value, location[-1]:
        case dict(), str(key):
            value[key] = unpacked
        case list(), int(place):
            value[place] = unpacked
    return not isinstance(unpacked, str)


def _get_item(value: JsonValue, key: int | str) -> JsonValue:
    if isinstance(value, dict) and isinstance(key, str):
        return value.get(key)
    if isinstance(value, list) and isinstance(key, int) and key < len(value):
        return value[key]
    return None


def _describe_problems(problem: ValidationError, model_type: type[BaseModel]) -> str:
    errors = problem.errors(include_url=False)
    lines = []
    for error in errors:
        place = format_location(error["loc"]) or "the object as a whole"
        lines.append(f"- {place}: {_describe_problem(error, model_type)}")
    shown = limit_lines(lines, MAX_PROBLEMS, "- and {count} more problems")
    return _limit_text("\n".join(("the values do not fit:", *shown)))


def _describe_problem(error: ErrorDetails, model_type: type[BaseModel]) -> str:
    if error["type"] == "missing":
        return "is required and missing"
    if error["type"] == "extra_forbidden":
        if len(error["loc"]) > 1:
            return "is not a known field"
        return f"is not a known field; known here: {', '.join(model_type.model_fields)}"
    message = error["msg"].removeprefix("Value error, ").removeprefix("Input ")
    return f"{message}; got {_shorten_value(error['input'])}"


def format_location(location: Sequence[int | str]) -> str:
    """Return a place in a JSON value such as `reply[2].call`; empty for the whole value."""
    text = ""
    for part in location:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}"
    return text.removeprefix(".")


def _shorten_value(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "the string", bool: "the boolean", type(None): "null"}
    name = names.get(type(value), "the number")
    if isinstance(value, dict | list):
        return f"{name} of {len(value)}"
    if value is None:
        return name
    text = repr(value)
    if len(text) > SHOWN_CHARS:
        text = f"{text[:SHOWN_CHARS]}…"
    return f"{name} {text}"


def _limit_text(text: str) -> str:
    if len(text) <= MAX_CHARS:
        return text
    return text[: MAX_CHARS - 1] + "…"
