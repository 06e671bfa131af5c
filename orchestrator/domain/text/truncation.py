"""Tools' output for models: bounded, cut between lines, with nothing invisible in it."""

import re

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.domain.text.listing import format_count

LIMIT_CHARS = 16_000
LINE_CHARS = 2_000
_LEAST_CHARS = 200
_MARKER_CHARS = 120
_STYLING = compile_lazily(r"\x1b\[[0-9;:]*[mK]")
_INVISIBLE = compile_lazily(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff\U000e0000-\U000e007f]"
)
_PARTIAL_END = compile_lazily(rb"(?:[\xc0-\xdf]|[\xe0-\xef][\x80-\xbf]?|[\xf0-\xf7][\x80-\xbf]{0,2})\Z")
_PARTIAL_START = compile_lazily(rb"\A[\x80-\xbf]{1,3}")


class TruncatedText(FrozenModel):
    """A text of at most the limit, and how long it was: in characters, or in bytes where only its ends were read.

    `is_capped` tells that something was left out.
    """

    text: str
    total_chars: int
    is_capped: bool


def truncate_text(text: str, limit_chars: int = LIMIT_CHARS) -> TruncatedText:
    """Return the text if it is short, else its head and tail with a line between them that says what was left out.

    Colours are dropped, other control characters are shown as symbols, and lines of more than `LINE_CHARS` characters
    are cut. A limit below 200 characters counts as 200.
    """
    whole = show_control_characters(text)
    lines = map(_cut_line, whole.split("\n"))
    shown = "\n".join(lines)
    limit = max(limit_chars, _LEAST_CHARS)
    if len(shown) <= limit:
        return TruncatedText(text=shown, total_chars=len(text), is_capped=shown != whole)
    head, tail = _cut_ends(shown, shown, limit)
    rest = shown[len(head) : len(shown) - len(tail)]
    count = rest.count("\n") + (not rest.endswith("\n"))
    amount = f"{len(rest):,} characters, {format_count(count, 'line')},"
    return TruncatedText(text=_join_ends(head, amount, tail), total_chars=len(text), is_capped=True)


def truncate_bytes(head: bytes, tail: bytes, total: int, limit_chars: int = LIMIT_CHARS) -> TruncatedText:
    """Return the same for an output of `total` bytes of which only the first and last were read; they may overlap."""
    if len(head) + len(tail) >= total:
        return truncate_text((head + tail[len(head) + len(tail) - total :]).decode("utf-8", "replace"), limit_chars)
    first = _shorten_lines(_PARTIAL_END.sub(b"", head).decode("utf-8", "replace"))
    last = _shorten_lines(_PARTIAL_START.sub(b"", tail).decode("utf-8", "replace"))
    kept_head, kept_tail = _cut_ends(first, last, max(limit_chars, _LEAST_CHARS))
    rest = max(total - len(kept_head.encode()) - len(kept_tail.encode()), 0)
    text = _join_ends(kept_head, f"about {rest:,} bytes", kept_tail)
    return TruncatedText(text=text, total_chars=total, is_capped=True)


def show_control_characters(text: str) -> str:
    """Return the text with `\\n` line ends and without colours; other invisible characters become symbols."""
    return _INVISIBLE.sub(_replace_character, _STYLING.sub("", text.replace("\r\n", "\n")))


def _replace_character(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    if 0xD800 <= code <= 0xDFFF:
        return "\ufffd"
    return f"<U+{code:04X}>"


def _shorten_lines(text: str) -> str:
    return "\n".join(map(_cut_line, show_control_characters(text).split("\n")))


def _cut_line(line: str) -> str:
    if len(line) <= LINE_CHARS:
        return line
    return f"{line[:LINE_CHARS]} [... {len(line) - LINE_CHARS:,} more characters in this line]"


def _cut_ends(first: str, last: str, limit: int) -> tuple[str, str]:
    """Return the head of one text and the tail of another that together leave room for the line between them.

    Each is cut at a line boundary, unless that would cost more than half of it.
    """
    room = (limit - _MARKER_CHARS) // 2
    at = max(len(last) - room, 0)
    head, tail = first[:room], last[at:]
    if len(head) < len(first) and (end := head.rfind("\n") + 1) > room // 2:
        head = head[:end]
    if at and last[at - 1] != "\n" and 0 < (start := tail.find("\n") + 1) <= room // 2:
        tail = tail[start:]
    return head, tail


def _join_ends(head: str, amount: str, tail: str) -> str:
    if head and not head.endswith("\n"):
        head += "\n"
    return f"{head}[... {amount} left out here ...]\n{tail}"
