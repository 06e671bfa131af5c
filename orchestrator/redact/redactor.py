"""Takes secrets out of texts: the values that this process knows, in whatever form, and what looks like a token."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from orchestrator.redact.forms import forms
from orchestrator.redact.patterns import RULES, Rule, mark, own_rule

SHORTEST = 8
"""A known value of fewer characters is not looked for: it would be found in ordinary words."""
_STYLING = re.compile(rb"\x1b\[[0-9;:]*[A-Za-z]")
_SPACE = b" \t\r\n\v\f"
_SPELLED_SPACE = (b"\\n", b"\\r", b"\\t")
_BETWEEN = r"(?:[ \t\r\n\v\f]|\\[nrt]|\x1b\[[0-9;:]*[A-Za-z]){0,200}"
_ROUNDS = 4


class Redactor:
    """Takes secrets out of texts. Redacting what was redacted changes nothing, and nothing is ever raised.

    Known values are found plain, quoted for URLs, JSON and Python, in hex and in base64, also where lines were broken
    or coloured within them. What deliberately hides a value from this (a cipher, a word of rubbish between any two
    letters) does.
    """

    def __init__(self, known: Mapping[str, str] | None = None, patterns: Sequence[str] = ()) -> None:
        """`known` are secret values by the name that is to stand for them; `patterns` are looked for beside our own.

        Raises:
            re.error: a pattern is no regular expression.
        """
        self._rules = (*RULES, *map(own_rule, patterns))
        values = {name: value.strip() for name, value in (known or {}).items()}
        self._known = tuple(
            _Known(name, value)
            for name, value in sorted(values.items(), key=lambda item: -len(item[1]))
            if len(value) >= SHORTEST and not any(value in mark(other) for other in values)
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the values that are known."""
        return tuple(sorted(known.name for known in self._known))

    @property
    def reach(self) -> int:
        """No known value takes more characters than this in a text, unless it is spread over pages."""
        return max((known.reach for known in self._known), default=0)

    def redact(self, text: str) -> str:
        """The text without known values and without what looks like a token: for what is kept, shown and sent."""
        for _ in range(_ROUNDS):
            redacted = _by_rules(self.hide(text), self._rules)
            if redacted == text:
                break
            text = redacted
        return text

    def hide(self, text: str) -> str:
        """The text without known values alone: for what a model said and a machine is to do, to the letter."""
        if not self._known:
            return text
        for known in self._found(text.encode("utf-8", "surrogatepass")):
            text = known.hidden(text)
        return text

    def holds(self, content: bytes) -> tuple[str, ...]:
        """The names of the known values that a content holds."""
        return tuple(known.name for known in self._found(content))

    def _found(self, content: bytes) -> Iterator["_Known"]:
        if self._known:
            squeezed = _squeezed(content)
            yield from (known for known in self._known if known.is_in(squeezed))


PATTERNS = Redactor()
"""Knows no values, only what tokens look like."""


class _Known:
    """A secret value in all its forms."""

    def __init__(self, name: str, value: str) -> None:
        self.name = name
        self._forms = tuple(dict.fromkeys(_squeezed(form.encode("utf-8", "surrogatepass")) for form in forms(value)))

    @property
    def reach(self) -> int:
        """Characters it takes with line breaks in between."""
        return 2 * max(map(len, self._forms), default=0) + 200

    def is_in(self, squeezed: bytes) -> bool:
        """Whether it occurs in a content without spaces."""
        return any(form in squeezed for form in self._forms)

    def hidden(self, text: str) -> str:
        """A text without it."""
        return self._pattern.sub(mark(self.name), text)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        words = (form.decode("utf-8", "surrogatepass") for form in self._forms)
        return re.compile("|".join(_BETWEEN.join(map(re.escape, word)) for word in words))


def _squeezed(content: bytes) -> bytes:
    """A content without what breaks or colours lines."""
    if b"\x1b" in content:
        content = _STYLING.sub(b"", content)
    content = content.translate(None, _SPACE)
    if b"\\" in content:
        for space in _SPELLED_SPACE:
            content = content.replace(space, b"")
    return content


def _by_rules(text: str, rules: Sequence[Rule]) -> str:
    for rule in rules:
        text = rule.redacted(text)
    return text
