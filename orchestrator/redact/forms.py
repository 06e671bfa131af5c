"""The shapes in which a known value turns up: as it is, quoted for a URL, JSON or Python, in hex, in base64."""

import base64
import json
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

_SHORTEST = 8
_URL_SAFE = str.maketrans("+/", "-_")


def forms(value: str) -> tuple[str, ...]:
    """All of them, the longest first; none is shorter than a chance hit would be."""
    found = {*_quoted(value), *_hex(value.encode()), *_base64(value.encode())}
    return tuple(sorted((form for form in found if len(form) >= _SHORTEST), key=lambda form: (-len(form), form)))


def _quoted(value: str) -> Iterator[str]:
    yield value
    yield value.encode().decode("latin-1")  # as it stands in a log that is read byte by byte
    yield json.dumps(value)[1:-1]
    yield json.dumps(value, ensure_ascii=False)[1:-1]
    yield repr(value)[1:-1]
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
