"""TOML files with line numbers, so that an error names the file, the line and the key."""

import tomllib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from orchestrator.config import schema_hints
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.errors import UsageProblem

TomlKey = tuple[str | int, ...]

_HEADER = compile_lazily(r"\s*(\[\[?)([^\[\]]+)\]\]?\s*(?:#.*)?$")
_ASSIGNMENT = compile_lazily(
    r"\s*((?:[A-Za-z0-9_-]+|\"[^\"]*\"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|\"[^\"]*\"))*)\s*="
)
_PYTHON_WORDED = {"bool_parsing", "int_parsing", "int_from_float", "float_parsing", "string_pattern_mismatch"}
_PYTHON_WORDED |= {"too_short", "date_parsing", "date_from_datetime_parsing", "date_from_datetime_inexact"}
"""Problems of which pydantic speaks in the words of Python or of regular expressions."""
_PART = compile_lazily(r"[A-Za-z0-9_-]+|\"[^\"]*\"|'[^']*'")


def read_toml(path: Path) -> dict[str, Any]:
    """Return the parsed file.

    Raises:
        UsageProblem: it cannot be read or is no TOML; the message names file and line.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageProblem(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageProblem(f"{path} is not UTF-8 (byte {error.start})") from error
    except tomllib.TOMLDecodeError as error:
        raise UsageProblem(f"{path}: {error}") from error


def find_key_line(source: str, key: TomlKey) -> int | None:
    """Return the 1-based line of `key`, or of the nearest table around it; None if there is neither."""
    lines = _find_key_lines(source)
    for length in range(len(key), 0, -1):
        if key[:length] in lines:
            return lines[key[:length]]
    return None


@lru_cache(maxsize=8)
def _find_key_lines(source: str) -> Mapping[TomlKey, int]:
    """Return the line of each key; kept, as every key of a file is asked about one by one."""
    found: dict[TomlKey, int] = {}
    counts: dict[TomlKey, int] = {}
    table: TomlKey = ()
    for number, line in enumerate(source.splitlines(), start=1):
        if header := _HEADER.match(line):
            table = _open_table(header[1] == "[[", _split_key(header[2]), counts)
            found.setdefault(table, number)
        elif assignment := _ASSIGNMENT.match(line):
            found.setdefault((*table, *_split_key(assignment[1])), number)
    return found


def _split_key(text: str) -> TomlKey:
    return tuple(part.strip("\"'") for part in _PART.findall(text))


def _open_table(is_array: bool, name: TomlKey, counts: dict[TomlKey, int]) -> TomlKey:
    """Return the table's key with the indices of the arrays that hold it."""
    path: TomlKey = ()
    for depth, part in enumerate(name):
        path = (*path, part)
        if is_array and depth == len(name) - 1:
            counts[path] = counts.get(path, -1) + 1
        if path in counts:
            path = (*path, counts[path])
    return path


def describe_toml_errors(error: ValidationError, path: Path, source: str, model: type[BaseModel]) -> str:
    """Return pydantic's problems with a `model`, one a line: file, line, key, what is wrong, what is allowed."""
    schema, problems = model.model_json_schema(by_alias=True), error.errors()
    shown = [problem for problem in problems if not _is_consequence(problem, problems)]
    shown.sort(
        key=lambda problem: (
            find_key_line(source, schema_hints.drop_definition_names(schema, _get_problem_key(problem))) or 0
        )
    )
    described = (_describe_problem(_get_problem_key(problem), problem, str(path), source, schema) for problem in shown)
    return "\n".join(described)


def _get_problem_key(problem: ErrorDetails) -> TomlKey:
    """Return the key of the problem: its context may name one below the table that was checked."""
    below: TomlKey = problem.get("ctx", {}).get("key", ())
    return (*problem["loc"], *below)


def _is_consequence(problem: ErrorDetails, problems: Sequence[ErrorDetails]) -> bool:
    """Return True if a list is too short only because of problems in its entries."""
    key = problem["loc"]
    inside = (other["loc"] for other in problems if len(other["loc"]) > len(key))
    return problem["type"] == "too_short" and any(other[: len(key)] == key for other in inside)


def _describe_problem(key: TomlKey, problem: ErrorDetails, path: str, source: str, schema: schema_hints.Schema) -> str:
    written = schema_hints.drop_definition_names(schema, key)
    line = find_key_line(source, written)
    where = f"{path}:{line}" if line else path
    name = format_dotted_key(written)
    allowed = schema_hints.describe_allowed_values(schema, schema_hints.find_schema_node(schema, key) or {})
    match problem["type"]:
        case "extra_forbidden":
            return f"{where}: unknown key {name}{schema_hints.suggest_known_keys(schema, key)}"
        case "missing":
            return f"{where}: {name} is missing{f'; it is {allowed}' if allowed else ''}"
        case kind if allowed and (kind in _PYTHON_WORDED or kind.endswith("_type")):
            return f"{where}: {name}: Input should be {allowed}"
        case _:
            return ": ".join(filter(None, (where, name, problem["msg"].removeprefix("Value error, "))))


def format_dotted_key(key: Sequence[str | int]) -> str:
    """Return `step[1].run` for ("step", 1, "run")."""
    text = ""
    for part in key:
        if isinstance(part, int):
            text += f"[{part}]"
        elif text:
            text += f".{part}"
        else:
            text = part
    return text
