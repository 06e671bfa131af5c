"""The ladder of matchers behind `edits`: each looser than the one before, none of them by edit distance."""

from collections.abc import Callable, Sequence
from enum import StrEnum

_BLANKS = " \t\f\v\r"
_SPELLINGS = {
    "'": "‘’‚‛′ʼ＇",
    '"': "“”„‟″＂",
    "-": "‐‑‒–—―−﹘﹣－",
    " ": "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000",
}
_FOLDS = str.maketrans({letter: plain for plain, letters in _SPELLINGS.items() for letter in letters})
FOLDABLE_CHARACTERS = frozenset("".join(_SPELLINGS) + "".join(_SPELLINGS.values()))


class MatchLevel(StrEnum):
    """The looseness with which `old` was compared with the file."""

    EXACT = "exact"
    TRAILING = "trailing-space"
    TYPOGRAPHY = "typography"
    INDENT = "indentation"
    NUMBERS = "line-numbers"


def fold_line(line: str) -> str:
    """Return the line with typographic quotes, dashes and spaces as ASCII and without white space at its end."""
    return line.translate(_FOLDS).rstrip(_BLANKS)


def fold_and_strip_line(line: str) -> str:
    """Return the folded line without its indentation."""
    return fold_line(line).strip(_BLANKS)


def get_indentation(line: str) -> str:
    """Return the line's indentation, as it is spelt."""
    return line[: len(line) - len(line.translate(_FOLDS).lstrip(_BLANKS))]


LINE_KEYS: dict[MatchLevel, Callable[[str], str]] = {
    MatchLevel.TRAILING: lambda line: line.rstrip(_BLANKS),
    MatchLevel.TYPOGRAPHY: fold_line,
    MatchLevel.INDENT: fold_and_strip_line,
}


def find_offsets(text: str, needle: str) -> list[int]:
    """Return every offset at which `needle` stands, overlapping ones too."""
    found = []
    at = text.find(needle)
    while at >= 0:
        found.append(at)
        at = text.find(needle, at + 1)
    return found


def find_line_sequences(lines: Sequence[str], wanted: Sequence[str], key: Callable[[str], str]) -> list[int]:
    """Return the index of every line at which all of `wanted` follow each other when compared by `key`."""
    text, needle = "\n".join(("", *map(key, lines), "")), "\n".join(("", *map(key, wanted), ""))
    found, index, done = [], 0, 0
    for at in find_offsets(text, needle):
        index += text.count("\n", done, at)
        done = at
        found.append(index)
    return found
