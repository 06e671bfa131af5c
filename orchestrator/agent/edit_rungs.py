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
FOLDABLE = frozenset("".join(_SPELLINGS) + "".join(_SPELLINGS.values()))


class Rung(StrEnum):
    """How loosely `old` was compared with the file."""

    EXACT = "exact"
    TRAILING = "trailing-space"
    TYPOGRAPHY = "typography"
    INDENT = "indentation"
    NUMBERS = "line-numbers"


def folded(line: str) -> str:
    """The line with typographic quotes, dashes and spaces as ASCII and without white space at its end."""
    return line.translate(_FOLDS).rstrip(_BLANKS)


def stripped(line: str) -> str:
    """The folded line without its indentation."""
    return folded(line).strip(_BLANKS)


def lead(line: str) -> str:
    """The line's indentation, as it is spelt."""
    return line[: len(line) - len(line.translate(_FOLDS).lstrip(_BLANKS))]


KEYS: dict[Rung, Callable[[str], str]] = {
    Rung.TRAILING: lambda line: line.rstrip(_BLANKS),
    Rung.TYPOGRAPHY: folded,
    Rung.INDENT: stripped,
}


def find_all(text: str, needle: str) -> list[int]:
    """Every offset at which `needle` stands, overlapping ones too."""
    found = []
    at = text.find(needle)
    while at >= 0:
        found.append(at)
        at = text.find(needle, at + 1)
    return found


def find_lines(lines: Sequence[str], wanted: Sequence[str], key: Callable[[str], str]) -> list[int]:
    """The index of every line at which all of `wanted` follow each other when compared by `key`."""
    text = "\n" + "".join(key(line) + "\n" for line in lines)
    needle = "\n" + "".join(key(line) + "\n" for line in wanted)
    found, index, done = [], 0, 0
    for at in find_all(text, needle):
        index += text.count("\n", done, at)
        done = at
        found.append(index)
    return found
