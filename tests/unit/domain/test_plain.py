"""Words of models and repositories, made inert."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.text.sanitization import (
    format_code_span,
    sanitize_markdown,
    sanitize_title,
    strip_controls,
    to_one_line,
)


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("ask @everyone", "@everyone"),
        ("Closes #12 and fixes #13", "Closes #12"),
        ("resolves: #4", "resolves: #4"),
        ("![x](http://tracker.invalid/p.png)", "!["),
        ("fix #7", "fix #7"),
        ("Closes https://forge.invalid/o/r/issues/1", "Closes https"),
        ("fixes GH-7", "GH-7"),
        ("resolves other/repo#7", "resolves other"),
        ("closes issue #7", "closes"),
        ("_@everyone_", "@everyone"),
        ("&#64;everyone and &commat;all", "&#64;"),
        ("&commat;all", "&commat;"),
        ("see !12", "!12"),
        ("<script>alert(1)</script>", "<script>"),
        ("red \x1b[31mtext", "\x1b"),
        ("right\u202eleft", "\u202e"),
        ("bell\x07", "\x07"),
        ("\x9b31m", "\x9b"),
    ],
)
def test_what_could_act_is_gone_and_the_rest_can_still_be_read(text: str, gone: str) -> None:
    assert gone not in sanitize_markdown(text)


def test_plain_words_stay_as_they_are() -> None:
    text = "2 tests fail: a@b.c is fine, 100% of `x < y`? no:\n\tok"
    assert sanitize_markdown(text) == text.replace("<", "&lt;")


@given(st.text())
def test_no_control_or_formatting_character_survives(text: str) -> None:
    left = {unicodedata.category(char) for char in strip_controls(text) if char not in "\n\t"}
    assert not left & {"Cc", "Cf", "Cs"}


@given(st.text())
def test_every_other_character_stays_where_it_is(text: str) -> None:
    kept = [char for char in text if char in "\n\t" or unicodedata.category(char) not in {"Cc", "Cf", "Cs"}]
    assert strip_controls(text) == "".join(kept)


@pytest.mark.parametrize("title", ["Fixes #1 for @everyone\nCloses #2", "close: o/r#3\x1b[2J", "implements GH-4\u202e"])
def test_a_title_closes_nothing_and_calls_nobody(title: str) -> None:
    made = sanitize_title(title)
    assert not re.search(r"\b(close|closes|fixes|implements)\b", made, re.IGNORECASE)
    assert not re.search(r"@everyone|#\d|GH-\d|[\x00-\x1f\u202e]", made.replace("o/r#3", ""))


def test_an_ordinary_title_stays_as_it_is() -> None:
    assert (
        sanitize_title("Fix rounding (a@b.c) & close the file! 5 < 6") == "Fix rounding (a@b.c) & close the file! 5 < 6"
    )


@given(st.text())
def test_a_title_is_one_line(text: str) -> None:
    assert len(to_one_line(text).splitlines()) <= 1


@pytest.mark.parametrize(
    ("text", "span"),
    [("plain", "`plain`"), ("a `b` c", "`` a `b` c ``"), ("``", "``` `` ```"), ("two\nlines\x1b[0m", "`two lines[0m`")],
)
def test_a_code_span_is_one_line_that_its_text_cannot_end(text: str, span: str) -> None:
    assert format_code_span(text) == span
