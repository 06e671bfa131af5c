"""Making words of models and repositories inert before a person or a forge reads them."""

import re
import unicodedata

from orchestrator.domain.text.lazy_pattern import compile_lazily

_MENTION = compile_lazily(r"(?<![A-Za-z0-9/])(?:[@#](?=[\w-])|!(?=\d))")
_KEYWORD = compile_lazily(
    r"\b(?:clos|fix|resolv|implement)(?:e[sd]?|s|ing)?\b(?=:?\s+(?:issues?:?\s+)?(?:[\w./-]*[#!]\d|GH-\d|https?://))",
    re.IGNORECASE,
)
_TICKET = compile_lazily(r"\b(GH)-(?=\d)")
_ENTITY = compile_lazily(r"&(?=#|\w+;)")


def sanitize_markdown(text: str, limit: int = 2_000) -> str:
    """Return Markdown that mentions nobody, closes nothing, loads nothing and holds no control characters."""
    text = strip_controls(text)[:limit]
    text = _ENTITY.sub("&amp;", text).replace("![", "!\\[").replace("<", "&lt;")
    return _defuse_mentions(text)


def sanitize_title(text: str, limit: int = 200) -> str:
    """Return one line for the title of a pull request or the subject of a commit.

    These are no Markdown but are searched for mentions and for words that close issues.
    """
    return _defuse_mentions(to_one_line(text, limit))


def sanitize_message(text: str, limit: int = 2_000) -> str:
    """Return the body of a commit's message, which is searched for mentions and closing words as a title is."""
    return _defuse_mentions(strip_controls(text)[:limit].strip())


def _defuse_mentions(text: str) -> str:
    text = _KEYWORD.sub(lambda word: f"{word[0][:2]}\u200b{word[0][2:]}", text)
    return _MENTION.sub("\\g<0>\u200b", _TICKET.sub("\\1\u200b-", text))


def to_one_line(text: str, limit: int = 2_000) -> str:
    """Return the words of a text in one line without control characters, for titles and list entries."""
    return " ".join(strip_controls(text).split())[:limit]


def format_code_span(text: str) -> str:
    """Return a Markdown code span of one line that nothing in the text can end; not for a table's cell."""
    text = " ".join(strip_controls(text).split("\n"))
    fence = "`" * (max(map(len, re.findall("`+", text)), default=0) + 1)
    pad = " " if "`" in text else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def strip_controls(text: str) -> str:
    """Return the text without control and bidirectional formatting characters, except line feeds and tabs."""
    return text if text.isprintable() else text.translate(_WITHOUT_CONTROLS)


class _WithoutControls(dict[int, int | None]):
    """The replacement of each character; those of common ones are kept, so that it stays small."""

    def __missing__(self, code: int) -> int | None:
        char = chr(code)
        is_gone = char not in "\n\t" and unicodedata.category(char) in {"Cc", "Cf", "Cs"}
        found = None if is_gone else code
        if code < _COMMON:
            self[code] = found
        return found


_COMMON = 0x3000
_WITHOUT_CONTROLS = _WithoutControls()
