"""What models write becomes typed values; slips with one meaning are mended, everything else is explained."""

import json
import time
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.errors import MalformedReply
from orchestrator.llm.output_parsing import MAX_CHARS, parse_arguments, parse_json_object


class Step(FrozenModel):
    name: str
    files: tuple[str, ...] = ()


class Steps(FrozenModel):
    kind: Literal["few", "many"]
    steps: tuple[Step, ...] = ()
    limit: int = Field(3, ge=1)


class Anything(BaseModel):
    value: Any


ONE = Steps(kind="few", steps=(Step(name="a", files=("x.py",)),))
TEXT = '{"kind": "few", "steps": [{"name": "a", "files": ["x.py"]}]}'

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=12
)
objects = st.dictionaries(st.text(), values, max_size=4)


def sloppy(value: object) -> str:
    """JSON with a comma after every last element and Python's names for true, false and null."""
    match value:
        case True | False | None:
            return repr(value)
        case dict():
            inside = ", ".join(f"{json.dumps(key)}: {sloppy(item)}" for key, item in value.items())
            return "{" + inside + (",\n" if value else "") + "}"
        case list():
            return "[" + ", ".join(map(sloppy, value)) + (" ," if value else "") + "]"
        case _:
            return json.dumps(value)


@settings(deadline=None)
@given(objects)
def test_plain_json_comes_back_unchanged(value: dict[str, Any]) -> None:
    assert parse_json_object(json.dumps(value)) == value
    assert parse_json_object(json.dumps(value, indent=2, ensure_ascii=False)) == value


@settings(deadline=None)
@given(objects)
def test_trailing_commas_and_python_words_are_mended_outside_strings_only(value: dict[str, Any]) -> None:
    assert parse_json_object(sloppy(value)) == value


@settings(deadline=None)
@given(objects, st.sampled_from(["", "json", "JSON", "python"]))
def test_a_fence_around_the_whole_text_is_taken_off(value: dict[str, Any], language: str) -> None:
    assert parse_json_object(f"\n```{language}\n{json.dumps(value)}\n```\n") == value


@settings(deadline=None)
@given(objects)
def test_json_in_a_json_string_is_unpacked(value: dict[str, Any]) -> None:
    assert parse_json_object(json.dumps(json.dumps(value))) == value
    assert parse_json_object(json.dumps(f"```json\n{sloppy(value)}\n```")) == value


@settings(deadline=None)
@given(values)
def test_values_inside_a_model_are_never_altered(value: object) -> None:
    assert parse_arguments(json.dumps({"value": value}), Anything).value == value


@settings(deadline=None)
@given(st.text())
def test_any_text_gives_an_object_or_a_bounded_explanation(text: str) -> None:
    try:
        assert isinstance(parse_json_object(text), dict)
    except MalformedReply as refusal:
        assert 0 < len(str(refusal)) <= MAX_CHARS


def test_raw_line_breaks_inside_strings_are_kept() -> None:
    assert parse_json_object('{"text": "one\ntwo\tthree"}') == {"text": "one\ntwo\tthree"}


def test_an_empty_text_is_the_empty_object() -> None:
    assert parse_json_object("  \n") == {}


@pytest.mark.parametrize(
    ("text", "explanation"),
    [
        ("{'a': 1}", "line 1, column 2: Expecting property name enclosed in double quotes"),
        ('{"a": 1', "not valid JSON at line 1, column 8: Expecting ',' delimiter"),
        ('{"a": [1,, 2]}', "Expecting value"),
        ('{"a": [,]}', "Expecting value"),
        ('{"a": 1} {"b": 2}', "Extra data"),
        ('{"a": 1, "a": 2}', "the key 'a' is given twice"),
        ('{"a": NaN}', "NaN is no JSON value"),
        ('{"a": -Infinity}', "-Infinity is no JSON value"),
        ('{"a": ' + "9" * 5_000 + "}", "Exceeds the limit"),
        ('{"a": ' + "[" * 100_000, "nested too deeply"),
        ("[1, 2]", "expected a JSON object, got a list of 2"),
        ("3", "expected a JSON object, got the number 3"),
        ('"hello"', "expected a JSON object, got the string 'hello'"),
        ("null", "expected a JSON object, got null"),
        (r'{"text": "\ud83d"}', r"'\ud83d' is half of a surrogate pair and no character: write the character itself"),
        ("Sure, here it is.", "not valid JSON at line 1, column 1"),
    ],
)
def test_what_has_no_single_meaning_is_refused(text: str, explanation: str) -> None:
    with pytest.raises(MalformedReply) as refusal:
        parse_json_object(text)
    assert explanation in str(refusal.value)


def test_arguments_become_the_model() -> None:
    assert parse_arguments(TEXT, Steps) == ONE


def test_a_string_is_unpacked_where_a_list_or_object_belongs() -> None:
    text = json.dumps({"kind": "few", "steps": json.dumps([json.dumps({"name": "a", "files": '["x.py",]'})])})
    assert parse_arguments(text, Steps) == ONE


def test_a_string_that_looks_like_json_stays_a_string_where_one_belongs() -> None:
    text = json.dumps({"kind": "few", "steps": [{"name": "[1]", "files": ["{}"]}]})
    assert parse_arguments(text, Steps).steps == (Step(name="[1]", files=("{}",)),)


def test_every_problem_is_named_with_its_path() -> None:
    text = '{"kind": "some", "steps": [{"files": "x.py", "nmae": "a"}], "limit": 0, "extra": true}'
    with pytest.raises(MalformedReply) as refusal:
        parse_arguments(text, Steps)
    assert str(refusal.value).splitlines() == [
        "the values do not fit:",
        "- kind: should be 'few' or 'many'; got the string 'some'",
        "- steps[0].name: is required and missing",
        "- steps[0].files: should be a valid tuple; got the string 'x.py'",
        "- steps[0].nmae: is not a known field",
        "- limit: should be greater than or equal to 1; got the number 0",
        "- extra: is not a known field; known here: kind, steps, limit",
    ]


def test_an_explanation_stays_short_whatever_was_written() -> None:
    text = json.dumps({"kind": "x" * 10_000, "steps": [{"x" * 500: 1} for _ in range(100)]})
    with pytest.raises(MalformedReply) as refusal:
        parse_arguments(text, Steps)
    assert len(str(refusal.value)) <= MAX_CHARS
    assert "more problems" in str(refusal.value) or str(refusal.value).endswith("…")


@pytest.mark.attack(65)
@pytest.mark.parametrize("text", ['{"a": ' + '"\\' * 200_000, '{"a": ' + '"x\n' * 200_001], ids=["escaped", "plain"])
def test_strings_without_an_end_take_no_time(text: str) -> None:
    begun = time.monotonic()
    with pytest.raises(MalformedReply, match="not valid JSON"):
        parse_json_object(text)
    assert time.monotonic() - begun < 20, "hours, where each quote is followed to the end of the text"
