"""JSON as models write it: read strictly first, then with the few slips that can mean only one thing.

Mended are code fences around the whole text, commas before a closing bracket, the Python words True, False and
None, raw line breaks inside strings, and a JSON string that holds the JSON. Nothing else: no value is ever guessed.
"""

import json
import re
from collections.abc import Iterator
from typing import NoReturn

from pydantic import JsonValue

from orchestrator.domain.text.lazy_pattern import compile_lazily

CODE_FENCE = compile_lazily(r"\A```[A-Za-z0-9_+-]*[ \t]*\r?\n(?P<body>.*?)\r?\n?```\Z", re.DOTALL)
# A string without an end is one token to the end of the text: looking for its end from each quote would take hours.
JSON_TOKEN = compile_lazily(
    r'(?P<string>"(?:[^"\\]++|\\.)*+(?:"|\\?\Z))|(?P<word>\b(?:True|False|None)\b)|(?P<comma>,(?=\s*[}\]]))|[^",TFN]+|.',
    re.DOTALL,
)
PYTHON_WORDS = {"True": "true", "False": "false", "None": "null"}
NEAR_CHARS = 30


class NotJson(ValueError):
    """The text is no JSON, even with leniency; the message says where and why."""


def parse_lenient_json(text: str) -> JsonValue:
    """Return the value that `text` holds.

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
