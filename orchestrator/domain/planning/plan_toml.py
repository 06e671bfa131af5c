"""Plans as TOML text that people edit: the same plan always gives the same text, read as the same plan."""

import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from orchestrator.domain.run.plan import Plan
from orchestrator.domain.text.lazy_pattern import compile_lazily

_TABLES = ("decisions", "tasks", "cancel")
"""The fields of a plan that are written as arrays of tables, in the order in which they stand in the text."""
_HEADER = compile_lazily(r"\s*\[\[\s*([A-Za-z_]+)\s*\]\]")
_ERROR_PLACE = compile_lazily(r"\(at line (\d+), column \d+\)\Z")


class BrokenPlanText(ValueError):
    """A text that is no plan: `line` is counted from 1, `problem` says what is wrong there."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(f"line {line}: {problem}")
        self.line = line
        self.problem = problem


def render_plan(plan: Plan) -> str:
    """Return the plan as TOML, without what is as by default."""
    values = plan.model_dump(mode="json", exclude_defaults=True)
    lines = [f"rationale = {_format_value(plan.rationale)}"]
    if not plan.tasks:
        lines.append("tasks = []")
    for name in _TABLES:
        for row in values.get(name, ()):
            lines.extend(("", f"[[{name}]]", *_render_row(row)))
    return "\n".join(lines) + "\n"


def read_plan(text: str) -> Plan:
    """Return the plan that a text holds.

    Raises:
        BrokenPlanText: the text is no TOML, or its values are no plan.
    """
    try:
        return Plan.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise BrokenPlanText(_find_syntax_line(text, str(error)), str(error)) from None
    except ValidationError as error:
        first = error.errors()[0]
        place = first["loc"]
        problem = f"{'.'.join(map(str, place))}: {first['msg']}"
        raise BrokenPlanText(_find_line(text, place), problem) from None


def find_task_line(text: str, plan: Plan, task: str) -> int:
    """Return the line at which the table of a plan's task begins, counted from 1; 1 for a key that none has."""
    for index, draft in enumerate(plan.tasks):
        if draft.key == task:
            return _find_table(text.splitlines(), "tasks", index) + 1
    return 1


def _render_row(row: Mapping[str, Any]) -> Iterator[str]:
    for key, value in row.items():
        yield f"{key} = {_format_value(value)}"


def _format_value(value: object) -> str:
    match value:
        case str() if "\n" in value:
            return f'"""\n{_escape_lines(value.split(chr(10)))}"""'
        case str():
            return f'"{_escape_text(value)}"'
        case bool():
            return str(value).lower()
        case list():
            return f"[{', '.join(map(_format_value, value))}]"
        case dict():
            pairs = map(_format_pair, value.items())
            return f"{{ {', '.join(pairs)} }}"
    return repr(value)


def _format_pair(pair: tuple[str, object]) -> str:
    key, value = pair
    is_text = isinstance(value, str)
    return f'{key} = "{_escape_text(str(value))}"' if is_text else f"{key} = {_format_value(value)}"


def _escape_lines(lines: Iterable[str]) -> str:
    return "\n".join(map(_escape_text, lines))


def _escape_text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1].replace("\x7f", "\\u007f")


def _find_syntax_line(text: str, message: str) -> int:
    place = _ERROR_PLACE.search(message)
    return int(place.group(1)) if place else text.count("\n") + 1


def _find_line(text: str, place: Sequence[int | str]) -> int:
    """Return the line of the value at `place`, or of the table that should hold it."""
    lines = text.splitlines()
    if not place:
        return 1
    start = 0
    if len(place) > 1 and isinstance(place[1], int):
        start = _find_table(lines, str(place[0]), place[1])
        place = place[2:] or place[:1]
    for number in range(start, len(lines)):
        if number > start and _HEADER.match(lines[number]):
            break
        if lines[number].partition("=")[0].strip() == place[0]:
            return number + 1
    return start + 1


def _find_table(lines: Sequence[str], name: str, index: int) -> int:
    """Return the offset of the line that begins the table; the first line if there is no such table."""
    for number, line in enumerate(lines):
        header = _HEADER.match(line)
        if header and header.group(1) == name:
            if index == 0:
                return number
            index -= 1
    return 0
