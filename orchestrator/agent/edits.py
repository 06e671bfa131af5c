"""Replacing a quoted text in a file: a ladder of matchers, unique at its rung or refused, never a guess."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from orchestrator.agent import edit_refusals as refusals
from orchestrator.agent.edit_quote import Quote, Unfit
from orchestrator.agent.edit_refusals import Refusal
from orchestrator.agent.edit_rungs import KEYS, Rung, find_all, find_lines, stripped
from orchestrator.agent.edit_text import FileText, Line, Span, Splice, align, has_surrogates
from orchestrator.domain.base import Frozen

_WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")


class Edited(Frozen):
    """The file's new bytes, how loosely `old` had to be compared, and which lines of the result changed."""

    content: bytes
    rung: Rung
    spans: tuple[Span, ...]

    @property
    def summary(self) -> str:
        """One sentence for the model."""
        where = ", ".join(_in_words(span) for span in self.spans[:12])
        more = f" and {len(self.spans) - 12} more" if len(self.spans) > 12 else ""
        how = "" if self.rung == Rung.EXACT else f" `old` was not exact; matched by {self.rung}."
        return f"Edited {where}{more}.{how}"


def apply_edit(content: bytes, old: str, new: str, replace_all: bool = False) -> Edited | Refusal:
    """Replace `old`, as quoted by a model, with `new`.

    The text must match exactly once, or every time with `replace_all`. Otherwise whole lines are compared, ever more
    loosely: white space at line ends, then typographic quotes, dashes and spaces, then an indentation that differs by
    one constant prefix, then line numbers in front of every line. The first rung that matches at all decides: with
    more than one match the edit is refused. Line endings, byte-order mark, bytes that are not UTF-8 and the presence
    of a final newline stay as they are.
    """
    file = FileText.of(content)
    old, new = file.normalised(old), file.normalised(new)
    if problem := _input_problem(content, file, old, new):
        return problem
    result = _exact(file, old, new, replace_all) or _by_lines(file, Quote.of(old, new))
    if isinstance(result, Refusal):
        return result
    rung, splices = result
    edited, spans = file.spliced(splices)
    return refusals.UNCHANGED if edited == content else Edited(content=edited, rung=rung, spans=spans)


def _input_problem(content: bytes, file: FileText, old: str, new: str) -> Refusal | None:
    if not old:
        return refusals.EMPTY
    if old == new:
        return refusals.SAME
    if has_surrogates(old) or has_surrogates(new):
        return refusals.SURROGATES
    if content.startswith(_WIDE_MARKS):
        return refusals.WIDE
    return refusals.LEGACY if not new.isascii() and file.is_legacy else None


Found = tuple[Rung, list[Splice]]


def _exact(file: FileText, old: str, new: str, replace_all: bool) -> Found | Refusal | None:
    """Splices that put `new` for each occurrence of `old`, which need not begin or end with a line."""
    text = "\n".join(line.body for line in file.lines)
    starts = [0, *accumulate(len(line.body) + 1 for line in file.lines)][:-1]
    found = find_all(text, old)
    if len(found) > 1 and not replace_all:
        return refusals.many([bisect_right(starts, at) for at in found], Rung.EXACT)
    splices = []
    for first, last in _blocks(found, len(old), starts):
        here = file.lines[first : last + 1]
        bodies = "\n".join(line.body for line in here).replace(old, new).split("\n")
        splices.append(Splice(first, last + 1, tuple(_relined(here, bodies, file.style(first, last + 1)))))
    return (Rung.EXACT, splices) if splices else None


def _blocks(found: Sequence[int], size: int, starts: Sequence[int]) -> list[tuple[int, int]]:
    """The blocks of lines, first and last counted from 0, that the matches touch; matches on one line share a block."""
    blocks: list[tuple[int, int]] = []
    for at in found:
        first, last = bisect_right(starts, at) - 1, bisect_right(starts, at + size) - 1
        if blocks and first <= blocks[-1][1]:
            first, last = blocks[-1][0], max(last, blocks.pop()[1])
        blocks.append((first, last))
    return blocks


def _relined(here: Sequence[Line], bodies: Sequence[str], style: str) -> list[Line]:
    """The new bodies with endings: lines that stay keep theirs, others get `style`, and the last has the last one's."""
    kept: Sequence[int | None] = [None] * len(bodies)
    if any(line.ending != style for line in here[:-1]):
        kept = align([line.body for line in here], bodies)
    lines = [
        Line(body, style if index is None else here[index].ending or style)
        for body, index in zip(bodies, kept, strict=True)
    ]
    return [*lines[:-1], Line(lines[-1].body, here[-1].ending)]


def _by_lines(file: FileText, quote: Quote) -> Found | Refusal:
    """One splice by the strictest rung beyond the exact one that matches at all."""
    bodies = file.bodies
    if not any(map(stripped, quote.old)):
        return refusals.not_found(bodies, quote.old, quote.new)
    for rung, key in KEYS.items():
        if starts := find_lines(bodies, quote.old, key):
            return _place(file, [(quote, start) for start in starts], rung, rung)
    return _numbered(file, quote)


def _numbered(file: FileText, quote: Quote) -> Found | Refusal:
    bodies = file.bodies
    try:
        readings = quote.unnumbered()
    except Unfit as why:
        return Refusal(reason=refusals.Reason.UNFIT, text=f"`old` was not found as it is, and {why}.")
    for rung, key in ((Rung.TRAILING, KEYS[Rung.TRAILING]), (Rung.TYPOGRAPHY, KEYS[Rung.TYPOGRAPHY])):
        readable = [reading for reading in readings if any(map(stripped, reading.old))]
        if found := [(reading, start) for reading in readable for start in find_lines(bodies, reading.old, key)]:
            return _place(file, found, rung, Rung.NUMBERS)
    seen = readings[-1] if readings else quote
    return refusals.not_found(bodies, seen.old, seen.new)


def _place(file: FileText, found: Sequence[tuple[Quote, int]], rung: Rung, reported: Rung) -> Found | Refusal:
    if len(found) > 1:
        return refusals.many([start + 1 for _, start in found], reported)
    quote, start = found[0]
    try:
        return reported, [quote.place(file, start, rung)]
    except Unfit as why:
        return refusals.unfit(str(why), file.bodies, start, len(quote.old))


def _in_words(span: Span) -> str:
    if span.last < span.first:
        return f"line {span.first} (lines before it are gone)"
    return f"line {span.first}" if span.first == span.last else f"lines {span.first}-{span.last}"


__all__ = ["Edited", "Refusal", "Rung", "Span", "apply_edit"]
