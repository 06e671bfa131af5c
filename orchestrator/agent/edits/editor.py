"""Replacing a quoted text in a file: a ladder of matchers, unique at its rung or refused, never a guess."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from orchestrator.agent.edits import file_text, refusals
from orchestrator.agent.edits.file_text import FileLine, FileText, MatchLevel, Splice
from orchestrator.agent.edits.refusals import EditRefusal
from orchestrator.agent.edits.replacement import LineReplacement, UnsafeReplacement
from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.text.listing import join_limited

_MAX_SHOWN = 12
_WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")


class EditResult(FrozenModel):
    """The file's new bytes, how loosely `old` had to be compared, and which lines of the result changed."""

    content: bytes
    rung: MatchLevel
    spans: tuple[file_text.EditedSpan, ...]

    @property
    def summary(self) -> str:
        """One sentence for the model."""
        edited = f"Edited {join_limited(map(_describe_span, self.spans), _MAX_SHOWN)}."
        if self.rung == MatchLevel.EXACT:
            return edited
        return f"{edited} `old` was not exact; matched by {self.rung}."


def apply_edit(content: bytes, old: str, new: str, replace_all: bool = False) -> EditResult | EditRefusal:
    """Replace `old`, as quoted by a model, with `new`.

    The text must match exactly once, or every time with `replace_all`. Otherwise whole lines are compared, ever more
    loosely: white space at line ends, then typographic quotes, dashes and spaces, then an indentation that differs by
    one constant prefix, then line numbers in front of every line. The first rung that matches at all decides: with
    more than one match the edit is refused. Line endings, byte-order mark, bytes that are not UTF-8 and the presence
    of a final newline stay as they are.
    """
    file = FileText.from_bytes(content)
    old, new = file.normalise_text(old), file.normalise_text(new)
    if problem := _find_input_problem(content, file, old, new):
        return problem
    result = _replace_exact(file, old, new, replace_all) or _replace_lines(file, LineReplacement.from_texts(old, new))
    if isinstance(result, EditRefusal):
        return result
    rung, splices = result
    edited, spans = file.apply_splices(splices)
    if edited == content:
        return refusals.NOTHING_TO_CHANGE
    return EditResult(content=edited, rung=rung, spans=spans)


def _find_input_problem(content: bytes, file: FileText, old: str, new: str) -> EditRefusal | None:
    if not old:
        return refusals.EMPTY_OLD_TEXT
    if old == new:
        return refusals.OLD_EQUALS_NEW
    if file_text.has_surrogates(old) or file_text.has_surrogates(new):
        return refusals.SURROGATES_IN_TEXT
    if content.startswith(_WIDE_MARKS):
        return refusals.WIDE_ENCODING
    if not new.isascii() and file.is_legacy:
        return refusals.LEGACY_ENCODING
    return None


MatchedSplices = tuple[MatchLevel, list[Splice]]


def _replace_exact(file: FileText, old: str, new: str, replace_all: bool) -> MatchedSplices | EditRefusal | None:
    """Return splices that put `new` for each occurrence of `old`, which need not begin or end with a line."""
    bodies = [line.body for line in file.lines]
    starts = list(accumulate((len(body) + 1 for body in bodies), initial=0))[:-1]
    found = file_text.find_offsets("\n".join(bodies), old)
    if len(found) > 1 and not replace_all:
        return refusals.refuse_ambiguous([bisect_right(starts, at) for at in found], MatchLevel.EXACT)
    splices = []
    for first, last in _find_blocks(found, len(old), starts):
        replaced = "\n".join(bodies[first : last + 1]).replace(old, new).split("\n")
        lines = _add_endings(file.lines[first : last + 1], replaced, file.choose_line_ending(first, last + 1))
        splices.append(Splice(first, last + 1, tuple(lines)))
    if splices:
        return MatchLevel.EXACT, splices
    return None


def _find_blocks(found: Sequence[int], size: int, starts: Sequence[int]) -> list[tuple[int, int]]:
    """Return the blocks of lines (first and last, from 0) that matches touch; matches on one line share a block."""
    blocks: list[tuple[int, int]] = []
    for at in found:
        first, last = bisect_right(starts, at) - 1, bisect_right(starts, at + size) - 1
        if blocks and first <= blocks[-1][1]:
            first, last = blocks[-1][0], max(last, blocks.pop()[1])
        blocks.append((first, last))
    return blocks


def _add_endings(here: Sequence[FileLine], bodies: Sequence[str], style: str) -> list[FileLine]:
    """Return new bodies with endings: lines that stay keep theirs, others get `style`, the last has the last one's."""
    kept: Sequence[int | None] = [None] * len(bodies)
    if any(line.ending != style for line in here[:-1]):
        kept = file_text.align_lines([line.body for line in here], bodies)
    lines = []
    for body, index in zip(bodies, kept, strict=True):
        lines.append(FileLine(body, here[index].ending or style if index is not None else style))
    return [*lines[:-1], FileLine(lines[-1].body, here[-1].ending)]


def _replace_lines(file: FileText, quote: LineReplacement) -> MatchedSplices | EditRefusal:
    """Return one splice by the strictest rung beyond the exact one that matches at all."""
    bodies = file.bodies
    if not any(map(file_text.fold_and_strip_line, quote.old)):
        return refusals.refuse_not_found(bodies, quote.old, quote.new)
    for rung, key in file_text.LINE_KEYS.items():
        if starts := file_text.find_line_sequences(bodies, quote.old, key):
            return _build_result(file, [(quote, start) for start in starts], rung, rung)
    return _replace_numbered(file, quote)


def _replace_numbered(file: FileText, quote: LineReplacement) -> MatchedSplices | EditRefusal:
    bodies = file.bodies
    try:
        readings = quote.list_unnumbered_readings()
    except UnsafeReplacement as why:
        return EditRefusal(reason=refusals.EditRefusalReason.UNFIT, text=f"`old` was not found as it is, and {why}.")
    for rung in (MatchLevel.TRAILING, MatchLevel.TYPOGRAPHY):
        found = []
        for reading in readings:
            if any(map(file_text.fold_and_strip_line, reading.old)):
                for start in file_text.find_line_sequences(bodies, reading.old, file_text.LINE_KEYS[rung]):
                    found.append((reading, start))
        if found:
            return _build_result(file, found, rung, MatchLevel.NUMBERS)
    if readings:
        quote = readings[-1]
    return refusals.refuse_not_found(bodies, quote.old, quote.new)


def _build_result(
    file: FileText, found: Sequence[tuple[LineReplacement, int]], rung: MatchLevel, reported: MatchLevel
) -> MatchedSplices | EditRefusal:
    if len(found) > 1:
        return refusals.refuse_ambiguous([start + 1 for _, start in found], reported)
    quote, start = found[0]
    try:
        return reported, [quote.build_splice(file, start, rung)]
    except UnsafeReplacement as why:
        return refusals.refuse_unsafe(str(why), file.bodies, start, len(quote.old))


def _describe_span(span: file_text.EditedSpan) -> str:
    if span.last < span.first:
        return f"line {span.first} (lines before it are gone)"
    if span.first == span.last:
        return f"line {span.first}"
    return f"lines {span.first}-{span.last}"
