"""The shapes in which a known value turns up: as it is, quoted for a URL, JSON, Python, HTML or a shell, in hex, in
base64; also quoted for JSON and then for a URL. That backslashes come in any number is the redactor's to see to.
"""

import base64
import html
import json
import shlex
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

_SHORTEST = 8
_URL_SAFE = str.maketrans("+/", "-_")


def list_encodings(value: str) -> tuple[str, ...]:
    """Return all of them, the longest first; none is shorter than a chance hit would be."""
    content = value.encode("utf-8", "surrogateescape" if _is_of_bytes(value) else "backslashreplace")
    texts = {
        value,
        content.decode("latin-1"),
        content.decode("utf-8", "replace"),
        *_quoted(value.encode("utf-8", "backslashreplace").decode()),
    }
    found = {*texts, *_hex(content), *_base64(content)}
    return tuple(sorted((form for form in found if len(form) >= _SHORTEST), key=lambda form: (-len(form), form)))


def _is_of_bytes(value: str) -> bool:
    """Return True for what Python makes of a variable, also of one that is no UTF-8."""
    return not any("\ud800" <= char <= "\udfff" and not "\udc80" <= char <= "\udcff" for char in value)


def _quoted(value: str) -> Iterator[str]:
    """Return a value as it is and quoted, once or twice."""
    once = dict.fromkeys(_quoted_once(value))
    yield from once
    for form in once:
        yield from _quoted_for_url(form)
        yield html.escape(form)


def _quoted_once(value: str) -> Iterator[str]:
    yield value
    yield json.dumps(value)[1:-1]
    yield json.dumps(value, ensure_ascii=False)[1:-1]
    yield repr(value)[1:-1]
    yield html.escape(value)
    yield html.escape(value).replace("&#x27;", "&#39;").replace("&quot;", "&#34;")
    yield shlex.quote(value).strip("'")
    yield value.replace("'", "'\\''")
    yield from _quoted_for_url(value)


def _quoted_for_url(value: str) -> Iterator[str]:
    for quoted in (quote(value), quote(value, safe=""), quote_plus(value)):
        yield quoted
        yield _lower_escapes(quoted)


def _lower_escapes(quoted: str) -> str:
    head, *escapes = quoted.split("%")
    return head + "".join(f"%{escape[:2].lower()}{escape[2:]}" for escape in escapes)


def _hex(content: bytes) -> Iterator[str]:
    for digits in (content.hex(), content.hex(":"), "".join(f"%{byte:02x}" for byte in content)):
        yield digits
        yield digits.upper()
    yield "".join(f"\\x{byte:02x}" for byte in content)


def _base64(content: bytes) -> Iterator[str]:
    """Of a text that holds the content, wherever in it: the characters that nothing around it decides."""
    for before in range(3):
        whole = base64.b64encode(bytes(before) + content).decode()
        sure = whole[-(-before * 8 // 6) : (before + len(content)) * 8 // 6]
        yield sure
        yield sure.translate(_URL_SAFE)
