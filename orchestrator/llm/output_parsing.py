"""The parser of model output: a typed value, or words that tell the model exactly what is wrong with it."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import NoReturn, TypeVar

from pydantic import BaseModel, JsonValue, ValidationError
from pydantic_core import ErrorDetails

from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.domain.text.listing import limit_lines
from orchestrator.errors import MalformedReply

T = TypeVar("T", bound=BaseModel)
MAX_PROBLEMS = 6
MAX_CHARS = 2_000
SHOWN_CHARS = 80
CONTAINER_ERRORS = ("list_type", "tuple_type", "set_type", "frozen_set_type", "dict_type", "mapping_type", "model_type")
CODE_FENCE = compile_lazily(r"\A```[A-Za-z0-9_+-]*[ \t]*\r?\n(?P<body>.*?)\r?\n?```\Z", re.DOTALL)
# A string without an end is one token to the end of the text: looking for its end from each quote would take hours.
JSON_TOKEN = compile_lazily(
    r'(?P<string>"(?:[^"\\]++|\\.)*+(?:"|\\?\Z))|(?P<word>\b(?:True|False|None)\b)|(?P<comma>,(?=\s*[}\]]))|[^",TFN]+|.',
    re.DOTALL,
)
PYTHON_WORDS = {"True": "true", "False": "false", "None": "null"}
NEAR_CHARS = 30


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


class NotJson(ValueError):
    """The text is no JSON, even with leniency; the message says where and why."""


def parse_lenient_json(text: str) -> JsonValue:
    """Return the value that `text` holds: read strictly first, then with the few slips that can mean only one thing.

    Mended are code fences around the whole text, commas before a closing bracket, the Python words True, False and
    None, raw line breaks inside strings, and a JSON string that holds the JSON. Nothing else: no value is ever guessed.

    Raises:
        NotJson: it holds none, or more than one, or a key twice, or what is no character.
    """
    text = text.strip()
    if fenced := CODE_FENCE.match(text):
        text = fenced["body"].strip()
    try:
        value = _strictly(text)
    except NotJson as problem:
        try:
            value = _strictly("".join(_iterate_mended(text)))
        except NotJson:
            raise problem from None
    if isinstance(value, str) and may_hold_json(value):
        return parse_lenient_json(value)
    return value


def may_hold_json(text: str) -> bool:
    """Return True if a string looks as if an object or a list was written into it."""
    return text.lstrip().startswith(("{", "[", "```"))


def _strictly(text: str) -> JsonValue:
    try:
        value: JsonValue = json.loads(text, strict=False, object_pairs_hook=_object, parse_constant=_refuse_constant)
        json.dumps(value, ensure_ascii=False).encode()
    except NotJson:
        raise
    except UnicodeEncodeError as problem:
        half = problem.object[problem.start]
        raise NotJson(f"{half!r} is half of a surrogate pair and no character: write the character itself") from problem
    except json.JSONDecodeError as problem:
        near = text[max(0, problem.pos - NEAR_CHARS) : problem.pos + NEAR_CHARS]
        raise NotJson(
            f"not valid JSON at line {problem.lineno}, column {problem.colno}: {problem.msg}, near {near!r}"
        ) from problem
    except RecursionError as problem:
        raise NotJson("not valid JSON: nested too deeply") from problem
    except ValueError as problem:  # a number of thousands of digits
        raise NotJson(f"not valid JSON: {problem}") from problem
    return value


def _object(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    found: dict[str, JsonValue] = {}
    for key, value in pairs:
        if key in found:
            raise NotJson(f"the key {key!r} is given twice in one object")
        found[key] = value
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise NotJson(f"{name} is no JSON value")


def _iterate_mended(text: str) -> Iterator[str]:
    """Yield the tokens of `text` without trailing commas and with Python's words replaced; strings stay."""
    before = ""
    for match in JSON_TOKEN.finditer(text):
        token = match[0]
        if match["comma"] and before not in {"", ",", "[", "{", ":"}:
            continue
        yield PYTHON_WORDS[token] if match["word"] else token
        before = token.rstrip()[-1:] or before
