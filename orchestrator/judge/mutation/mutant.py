"""One altered place of a changed file, and how it is told."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.domain.text.lazy_pattern import compile_lazily

_MAX_CHARS = 80
_TOKEN = compile_lazily(r"\w+|\s+|[^\w\s]+")


@dataclass(frozen=True)
class SourceEdit:
    """Bytes that take the place of others; `offset` and `removed` count bytes of the file as the change has it."""

    offset: int
    removed: int
    inserted: bytes


@dataclass(frozen=True)
class Mutant:
    """A changed file with one place altered: `before` became `after`, in words of the source."""

    path: str
    line: int
    before: str
    after: str
    edit: SourceEdit

    @property
    def description(self) -> str:
        """The alteration in words; also its name in the receipt of the run."""
        return f"`{self.before}` became `{self.after}` at {self.path}:{self.line}"


def build_mutant(path: str, line: int, codes: tuple[str, str], sources: tuple[bytes, bytes]) -> Mutant:
    """Return the mutant that makes the second of each pair of the first: the code of the place, the whole file."""
    before, after = _shorten_codes(*codes)
    return Mutant(path, line, before, after, _find_edit(*sources))


def _shorten_codes(before: str, after: str) -> tuple[str, str]:
    """Return both without the words that they begin and end with alike; whole where nothing would be left of one."""
    old, new = (re.findall(_TOKEN.pattern, " ".join(code.split())) for code in (before, after))
    start = _count_equal(old, new)
    end = _count_equal(old[start:][::-1], new[start:][::-1])
    short_old = "".join(old[start : len(old) - end]).strip()
    short_new = "".join(new[start : len(new) - end]).strip()
    if not short_old or not short_new:
        short_old, short_new = "".join(old), "".join(new)
    return _cut(short_old), _cut(short_new)


def _count_equal(left: Sequence[object], right: Sequence[object]) -> int:
    """Return with how many equal elements both begin."""
    count = 0
    while count < min(len(left), len(right)) and left[count] == right[count]:
        count += 1
    return count


def _cut(text: str) -> str:
    if len(text) <= _MAX_CHARS:
        return text
    return text[: _MAX_CHARS - 1] + "…"


def _find_edit(before: bytes, after: bytes) -> SourceEdit:
    start = _count_equal(before, after)
    end = _count_equal(before[start:][::-1], after[start:][::-1])
    return SourceEdit(start, len(before) - start - end, after[start : len(after) - end])
