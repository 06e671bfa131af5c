"""A file's bytes as lines, so that byte-order mark, undecodable bytes and each line's own ending survive an edit."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from itertools import chain
from typing import NamedTuple

from orchestrator.domain.text.lazy_pattern import compile_lazily

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


_BOM = b"\xef\xbb\xbf"
_ALIGN_LIMIT = 1_000_000
_SURROGATE = compile_lazily("[\ud800-\udfff]")
_BEYOND_ASCII = compile_lazily("[^\x00-\x7f\udc80-\udcff]")


class FileLine(NamedTuple):
    """A line's text and its ending: `\\n`, `\\r\\n`, `\\r` or nothing."""

    body: str
    ending: str


class EditedSpan(NamedTuple):
    """Lines `first` to `last`, counted from 1, both included; `last` is `first - 1` where lines only went away."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Splice:
    """Lines `start` up to but without `end` (counted from 0) become `lines`."""

    start: int
    end: int
    lines: tuple[FileLine, ...]


@dataclass(frozen=True, slots=True)
class FileText:
    """A file as lines; the last one has no ending, and an empty body if the file ends with a newline or is empty."""

    bom: bytes
    lines: tuple[FileLine, ...]
    has_cr_endings: bool

    @classmethod
    def from_bytes(cls, content: bytes) -> "FileText":
        """Split at `\\n` and `\\r\\n` only; at `\\r` in a file that has no `\\n` at all."""
        bom = _BOM if content.startswith(_BOM) else b""
        text = content[len(bom) :].decode("utf-8", "surrogateescape")
        has_cr_endings = "\r" in text and "\n" not in text
        pattern = "(\r)" if has_cr_endings else "(\r?\n)"
        pieces = [*re.split(pattern, text), ""]
        return cls(bom, tuple(map(FileLine, pieces[::2], pieces[1::2])), has_cr_endings)

    @property
    def line_count(self) -> int:
        """The number of lines; what follows the last newline counts only if there is something."""
        return len(self.lines) - (not self.lines[-1].body)

    @property
    def bodies(self) -> list[str]:
        """The lines without their endings."""
        return [line.body for line in self.lines[: self.line_count]]

    @property
    def is_legacy(self) -> bool:
        """True if it has bytes that are not UTF-8 and no character beyond ASCII that is."""
        text = "".join(line.body for line in self.lines)
        return _SURROGATE.search(text) is not None and _BEYOND_ASCII.search(text) is None

    def normalise_text(self, text: str) -> str:
        """Return a model's text with this file's idea of a line break written as `\\n`, without a byte-order mark."""
        text = text.replace("\r\n", "\n")
        if self.has_cr_endings:
            text = text.replace("\r", "\n")
        if self.bom:
            return text.removeprefix("\ufeff")
        return text

    def choose_line_ending(self, start: int, end: int) -> str:
        """Return the line ending that new lines between `start` and `end` should have: the nearest one there is."""
        for index in chain(range(start, end), range(start - 1, -1, -1), range(end, len(self.lines))):
            if self.lines[index].ending:
                return self.lines[index].ending
        return "\n"

    def apply_splices(self, splices: Sequence[Splice]) -> tuple[bytes, tuple[EditedSpan, ...]]:
        """Return the file's bytes after splices, given in order and apart, and the lines that changed in the result."""
        lines: list[FileLine] = []
        spans: list[EditedSpan] = []
        done = 0
        for splice in splices:
            lines += self.lines[done : splice.start]
            spans.append(_find_changed_span(self.lines[splice.start : splice.end], splice.lines, len(lines)))
            lines += splice.lines
            done = splice.end
        lines += self.lines[done:]
        return self.bom + "".join(map("".join, lines)).encode("utf-8", "surrogateescape"), tuple(spans)


def has_surrogates(text: str) -> bool:
    """Return True if the text cannot be encoded as UTF-8."""
    return _SURROGATE.search(text) is not None


def replace_surrogates(line: str) -> str:
    """Return the line fit for a message: bytes that are not UTF-8 as the replacement character."""
    return _SURROGATE.sub("\ufffd", line)


def align_lines(old: Sequence[str], new: Sequence[str]) -> list[int | None]:
    """Return for each new line the index of the old line it repeats, in order, or None where the line is new."""
    head = _count_common(old, new)
    tail = _count_common(old[head:][::-1], new[head:][::-1])
    kept: list[int | None] = [None] * len(new)
    kept[:head] = range(head)
    kept[len(new) - tail :] = range(len(old) - tail, len(old))
    left, right = old[head : len(old) - tail], new[head : len(new) - tail]
    if len(left) * len(right) <= _ALIGN_LIMIT:
        for i, j, size in SequenceMatcher(None, left, right, autojunk=False).get_matching_blocks():
            kept[head + j : head + j + size] = range(head + i, head + i + size)
    return kept


def _count_common(left: Sequence[str], right: Sequence[str]) -> int:
    for index, (one, other) in enumerate(zip(left, right, strict=False)):
        if one != other:
            return index
    return min(len(left), len(right))


def _find_changed_span(old: Sequence[FileLine], new: Sequence[FileLine], start: int) -> EditedSpan:
    """Return where `new`, placed at line index `start`, differs from `old`."""
    left, right = list(map("".join, old)), list(map("".join, new))
    head = _count_common(left, right)
    tail = _count_common(left[head:][::-1], right[head:][::-1])
    return EditedSpan(start + head + 1, start + len(new) - tail)
