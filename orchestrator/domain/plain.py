"""Making words of models and repositories inert before a person or a forge reads them."""

import re
import unicodedata

_MENTION = re.compile(r"(?<![\w/])([@#])(?=[\w-])")
_KEYWORD = re.compile(r"\b(clos|fix|resolv)(e|es|ed)\b(?=:?\s+\S*#)", re.IGNORECASE)


def inert(text: str, limit: int = 2_000) -> str:
    """Markdown text that mentions nobody, closes nothing, loads nothing and holds no control characters."""
    text = strip_controls(text)[:limit]
    text = text.replace("![", "!\\[").replace("<", "&lt;")
    text = _KEYWORD.sub(lambda word: f"{word[1]}\u200b{word[2]}", text)
    return _MENTION.sub("\\1\u200b", text)


def one_line(text: str, limit: int = 2_000) -> str:
    """The words of a text in one line without control characters, for titles and list entries."""
    return " ".join(strip_controls(text).split())[:limit]


def code_span(text: str) -> str:
    """A Markdown code span of one line that nothing in the text can end; not for a table's cell."""
    text = " ".join(strip_controls(text).split("\n"))
    fence = "`" * (max(map(len, re.findall("`+", text)), default=0) + 1)
    pad = " " if "`" in text else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def strip_controls(text: str) -> str:
    """The text without control and bidirectional formatting characters, except line feeds and tabs."""
    return "".join(char for char in text if char in "\n\t" or unicodedata.category(char) not in {"Cc", "Cf", "Cs"})
