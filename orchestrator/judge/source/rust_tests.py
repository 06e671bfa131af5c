"""Tests among the code of a Rust file: functions marked as tests, and modules that are only compiled for tests."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from orchestrator.domain.text.lazy_pattern import compile_lazily

_TOKEN = compile_lazily(
    r"""
      //[^\n]* | /\*.*?\*/                                    # comments
    | b?r(?P<hashes>\#*)".*?"(?P=hashes)                      # raw strings
    | b?"(?:\\.|[^"\\])*"                                     # strings
    | b?'(?:\\(?:u\{[^}]*\}|x..|.)|[^'\\\n])'                  # characters
    | '[A-Za-z_]\w*                                           # lifetimes
    | [A-Za-z_]\w* | [0-9][\w.]* | \S
    """,
    re.VERBOSE | re.DOTALL,
)
_COMMENT = compile_lazily(r"//|/\*")
_TEST_ATTRIBUTES = frozenset({"test", "rstest", "test_case", "quickcheck", "bench"})
_HEADING_WORDS = 3
_CLOSING = {"{": "}", "(": ")", "[": "]"}


class RustItem(NamedTuple):
    """An item of a Rust file with its attributes, as words without comments and blanks; `line` is where it begins.

    `heading` is what stands before its body.
    """

    text: str
    line: int
    heading: str


class _Token(NamedTuple):
    text: str
    line: int


def list_test_items(source: str) -> list[RustItem]:
    """Return the test functions of a file, and each item of its modules for tests, in their order."""
    return list(_iterate_test_items(list(_iterate_tokens(source)), is_for_tests=False))


def _iterate_tokens(source: str) -> Iterator[_Token]:
    line, at = 1, 0
    for found in _TOKEN.finditer(source):
        line += source.count("\n", at, found.start())
        at = found.start()
        if not _COMMENT.match(found[0]):
            yield _Token(found[0], line)


def _iterate_test_items(tokens: list[_Token], *, is_for_tests: bool) -> Iterator[RustItem]:
    at = 0
    while at < len(tokens):
        start = _skip_attributes(tokens, at)
        end, body = _find_item_end(tokens, start)
        is_marked = is_for_tests or _marks_test([token.text for token in tokens[at:start]])
        words = [token.text for token in tokens[start : body or end]]
        if body is not None and "mod" in words:
            yield from _iterate_test_items(tokens[body + 1 : end - 1], is_for_tests=is_marked)
        elif is_marked:
            text = " ".join(token.text for token in tokens[at:end])
            yield RustItem(text, tokens[at].line, " ".join(words[:_HEADING_WORDS]))
        at = end


def _skip_attributes(tokens: list[_Token], at: int) -> int:
    """Return where the item itself begins behind its attributes."""
    while at + 1 < len(tokens) and tokens[at].text == "#" and tokens[at + 1].text == "[":
        at = _skip_group(tokens, at + 1)
    return at


def _marks_test(attributes: list[str]) -> bool:
    """Return True if attributes make an item a test, or a part of tests: a last name of a path, or `cfg` of `test`."""
    for before, word, after in zip(attributes, attributes[1:], attributes[2:], strict=False):
        if word in _TEST_ATTRIBUTES and before in {"[", ":"} and after in {"]", "("}:
            return True
        if word == "test" and before in {"(", ","} and "cfg" in attributes:
            return True
    return False


def _find_item_end(tokens: list[_Token], start: int) -> tuple[int, int | None]:
    """Return where the item ends that begins at `start`, and where its body in braces begins, if it has one."""
    at = start
    while at < len(tokens):
        word = tokens[at].text
        if word == ";":
            return at + 1, None
        if word == "{":
            return _skip_group(tokens, at), at
        at = _skip_group(tokens, at) if word in _CLOSING else at + 1
    return len(tokens), None


def _skip_group(tokens: list[_Token], start: int) -> int:
    """Return where a group of brackets ends that begins at `start`; the end of the file if it is not closed."""
    depth = 0
    for at in range(start, len(tokens)):
        word = tokens[at].text
        depth += word in _CLOSING
        depth -= word in _CLOSING.values()
        if depth == 0:
            return at + 1
    return len(tokens)
