"""The shapes in which a known value turns up: as it is, quoted for a URL, JSON, Python, HTML or a shell, in hex, in
base64; also quoted for JSON and then for a URL. That backslashes come in any number is the redactor's to see to.
"""

import base64
import html
import json
import re
import shlex
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

_SHORTEST = 8
_ESCAPE = re.compile("%..")
_URL_SAFE = str.maketrans("+/", "-_")


def list_encodings(value: str) -> tuple[str, ...]:
    """Return all of them, the longest first; none is shorter than a chance hit would be."""
    content = _encode(value)
    found = {
        value,
        content.decode("latin-1"),
        content.decode("utf-8", "replace"),
        *_quote_twice(value.encode("utf-8", "backslashreplace").decode()),
        *_list_hex_forms(content),
        *_list_base64_forms(content),
    }
    long_enough = [form for form in found if len(form) >= _SHORTEST]
    return tuple(sorted(long_enough, key=lambda form: (-len(form), form)))


def _encode(value: str) -> bytes:
    """Return the bytes of a variable as Python decoded it; other lone surrogates become escapes."""
    try:
        return value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return value.encode("utf-8", "backslashreplace")


def _quote_twice(value: str) -> Iterator[str]:
    """Yield a value as it is and quoted, once or twice."""
    once = dict.fromkeys(_quote_once(value))
    yield from once
    for form in once:
        yield from _quote_for_url(form)
        yield html.escape(form)


def _quote_once(value: str) -> Iterator[str]:
    yield value
    yield json.dumps(value)[1:-1]
    yield json.dumps(value, ensure_ascii=False)[1:-1]
    yield repr(value)[1:-1]
    yield html.escape(value)
    yield html.escape(value).replace("&#x27;", "&#39;").replace("&quot;", "&#34;")
    yield shlex.quote(value).strip("'")
    yield value.replace("'", "'\\''")
    yield from _quote_for_url(value)


def _quote_for_url(value: str) -> Iterator[str]:
    for quoted in (quote(value), quote(value, safe=""), quote_plus(value)):
        yield quoted
        yield _ESCAPE.sub(lambda found: found[0].lower(), quoted)


def _list_hex_forms(content: bytes) -> Iterator[str]:
    """Yield the bytes in hex: as one word, with colons, as in a URL, and as in a string of C."""
    with_spaces = content.hex(" ")
    for digits in (content.hex(), content.hex(":"), "%" + with_spaces.replace(" ", "%")):
        yield digits
        yield digits.upper()
    yield "\\x" + with_spaces.replace(" ", "\\x")


def _list_base64_forms(content: bytes) -> Iterator[str]:
    """Return the characters of a text that holds the content, wherever in it, which nothing around it decides."""
    for before in range(3):
        whole = base64.b64encode(bytes(before) + content).decode()
        sure = whole[-(-before * 8 // 6) : (before + len(content)) * 8 // 6]
        yield sure
        yield sure.translate(_URL_SAFE)
