"""Taking secrets out of texts: the values that this process knows, in whatever form, and what looks like a token."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import starmap
from operator import attrgetter
from pathlib import Path
from typing import BinaryIO

from orchestrator.redact.encodings import list_encodings
from orchestrator.redact.token_patterns import TOKEN_RULES, build_user_rule, format_mark
from worktrees.durable_files import replace_durably

SHORTEST_SECRET = 8
"""A known value of fewer characters is not looked for: it would be found in ordinary words."""
_STYLING = re.compile(rb"\x1b\[[0-9;:]*[A-Za-z]")
_SHORTEST_SQUEEZED = 5
"""The same, without the spaces and backslashes that are passed over."""
_IGNORED = b" \t\r\n\v\f\\"
_SPELLED_SPACE = re.compile(rb"\\[nrt]")
_BETWEEN = r"(?:[ \t\r\n\v\f]|\\[nrt]?|\x1b\[[0-9;:]*[A-Za-z]){0,200}"
_BEFORE = r"(?:(?<!\\)\\{1,64})?"
"""The backslashes that quote the first character go with it, or what is left would be no JSON."""
_ROUNDS = 4
_CHUNK_BYTES = 4 * 1024 * 1024


class Redactor:
    """Takes secrets out of texts. Redacting what was redacted changes nothing, and nothing is ever raised.

    Known values are found plain, quoted for URLs, JSON, Python and HTML, in hex and in base64, also where lines were
    broken or coloured within them, and with any number of backslashes, as text has that was quoted again and again.
    What hides a value on purpose, such as a cipher or rubbish between any two letters, hides it from this too.
    """

    def __init__(self, known: Mapping[str, str] | None = None, patterns: Sequence[str] = ()) -> None:
        """Take secret values by the name that is to stand for them; `patterns` are looked for beside our own.

        Raises:
            re.error: a pattern is no regular expression.
        """
        self._rules = (*TOKEN_RULES, *map(build_user_rule, patterns))
        self._known = _choose_values(known or {})

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the values that are known."""
        return tuple(sorted(map(attrgetter("name"), self._known)))

    @property
    def max_form_length(self) -> int:
        """The most characters that a known value takes in a text, unless it is spread over pages."""
        return max(map(attrgetter("max_form_length"), self._known), default=0)

    def redact_text(self, text: str) -> str:
        """Return the text without known values and what looks like a token: for what is kept, shown and sent."""
        for _ in range(_ROUNDS):
            redacted = self.hide_known_secrets(text)
            for rule in self._rules:
                redacted = rule.redact_tokens(redacted)
            if redacted == text:
                break
            text = redacted
        return text

    def hide_known_secrets(self, text: str) -> str:
        """Return the text without known values alone: for what a model said and a machine is to do, to the letter."""
        if not self._known:
            return text
        for known in self._find_values(text.encode("utf-8", "surrogatepass")):
            text = known.hide_value(text)
        return text

    def find_secrets(self, content: bytes) -> tuple[str, ...]:
        """Return the names of the known values that a content holds."""
        return tuple(map(attrgetter("name"), self._find_values(content)))

    def _find_values(self, content: bytes) -> Iterator["_SecretValue"]:
        if self._known:
            squeezed = _squeeze(content)
            for known in self._known:
                if known.occurs_in(squeezed):
                    yield known


class _SecretValue:
    """A secret value in all its forms."""

    def __init__(self, name: str, value: str) -> None:
        self.name = name
        forms = []
        for form in list_encodings(value):
            squeezed = _squeeze(form.encode("utf-8", "surrogatepass"))
            if len(squeezed) >= _SHORTEST_SQUEEZED:
                forms.append(squeezed)
        self._forms = tuple(dict.fromkeys(forms))

    @property
    def max_form_length(self) -> int:
        """The characters it takes with line breaks and backslashes in between."""
        return 8 * max(map(len, self._forms), default=0) + 200

    def occurs_in(self, squeezed: bytes) -> bool:
        """Return True if it occurs in a content without spaces."""
        return any(form in squeezed for form in self._forms)

    def hide_value(self, text: str) -> str:
        """Return a text without it."""
        return self._pattern.sub(format_mark(self.name), text)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        spread = []
        for form in self._forms:
            spread.append(_BETWEEN.join(map(re.escape, form.decode("utf-8", "surrogatepass"))))
        return re.compile(f"{_BEFORE}(?:{'|'.join(spread)})")


def _choose_values(known: Mapping[str, str]) -> tuple[_SecretValue, ...]:
    """Return the values that can be looked for, the longest first: neither too short nor a part of a mark."""
    marks = list(map(format_mark, known))
    chosen = []
    for name, given in known.items():
        value = given.strip()
        if len(value) >= SHORTEST_SECRET and not any(value in mark for mark in marks):
            chosen.append((name, value))
    chosen.sort(key=lambda item: -len(item[1]))
    return tuple(starmap(_SecretValue, chosen))


def _squeeze(content: bytes) -> bytes:
    """Return a content without what breaks, colours or quotes lines."""
    if b"\x1b" in content:
        content = _STYLING.sub(b"", content)
    if b"\\" in content:
        content = _SPELLED_SPACE.sub(b"", content)
    return content.translate(None, _IGNORED)


PATTERN_REDACTOR = Redactor()
"""The redactor that knows no values, only what tokens look like."""


def scrub_log(log: Path, redactor: Redactor) -> bool:
    """Take known values out of a file that nobody writes any more; return True if it held one. Blocks.

    It is read once, and replaced only if it holds one. What was not text stays byte for byte.

    Raises:
        OSError: it could not be read or replaced.
    """
    if not redactor.names or not log.exists():
        return False
    with log.open("rb") as file:
        if not any(map(redactor.find_secrets, _read_overlapping(file, redactor.max_form_length))):
            return False
        file.seek(0)
        with replace_durably(log) as draft:
            draft.writelines(_hide_secrets(file, redactor))
    return True


def _read_overlapping(file: BinaryIO, reach: int) -> Iterator[bytes]:
    before = b""
    while chunk := file.read(_CHUNK_BYTES):
        yield before + chunk
        before = (before + chunk)[-reach:]


def _hide_secrets(file: BinaryIO, redactor: Redactor) -> Iterator[bytes]:
    """Yield the content without known values; one that lies across two chunks is found in the second."""
    rest = ""
    while chunk := file.read(_CHUNK_BYTES):
        text = redactor.hide_known_secrets(rest + chunk.decode("latin-1"))
        keep = max(len(text) - redactor.max_form_length, 0)
        yield text[:keep].encode("latin-1")
        rest = text[keep:]
    yield rest.encode("latin-1")
