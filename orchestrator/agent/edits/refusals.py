"""Refusals of edits, as a model is told: why, where, and what the file really has there."""

from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum
from itertools import accumulate

from orchestrator.agent.edits import file_text
from orchestrator.agent.edits.file_text import MatchLevel
from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.domain.text.listing import join_limited

LIMIT_CHARS = 3_000
_SHOWN_LINES = 14
_SHOWN_CHARS = 180
_SHOWN_PLACES = 12
_SEARCHED_LINES = 20_000
_COMPARED_LINES = 40
_NEAR = 0.5
_ELISIONS = frozenset({"...", "…", "# ...", "// ..."})
_WORD = compile_lazily(r"\w+")


class EditRefusalReason(StrEnum):
    """The reason why an edit is refused."""

    EMPTY = "empty"
    SAME = "same"
    NOT_FOUND = "not-found"
    AMBIGUOUS = "ambiguous"
    UNFIT = "unfit"
    ENCODING = "encoding"


class EditRefusal(FrozenModel):
    """An edit that was not made; `text` tells a model what to do instead, in at most `LIMIT_CHARS` characters."""

    reason: EditRefusalReason
    text: str


EMPTY_OLD_TEXT = EditRefusal(
    reason=EditRefusalReason.EMPTY,
    text="`old` is empty. Use write to create a file or to replace all of it; to insert, quote a line next to the "
    "place as `old` and repeat it in `new`.",
)
OLD_EQUALS_NEW = EditRefusal(
    reason=EditRefusalReason.SAME,
    text="`old` and `new` are the same text, so nothing would change. Line endings are always kept as the file has "
    "them.",
)
NOTHING_TO_CHANGE = EditRefusal(
    reason=EditRefusalReason.SAME,
    text="Nothing to do: what `old` matches already reads as `new` in the file, spelling included.",
)
SURROGATES_IN_TEXT = EditRefusal(
    reason=EditRefusalReason.ENCODING,
    text="`old` or `new` holds half of a surrogate pair, which is no character. Write the character itself.",
)
WIDE_ENCODING = EditRefusal(
    reason=EditRefusalReason.ENCODING,
    text="The file is UTF-16 or UTF-32, which edit cannot change. Convert it with a command.",
)
LEGACY_ENCODING = EditRefusal(
    reason=EditRefusalReason.ENCODING,
    text="The file is not UTF-8 (some single-byte encoding), so `new` may hold ASCII characters only here. Use a "
    "command that knows the file's encoding for others.",
)


def refuse_ambiguous(starts: Sequence[int], rung: MatchLevel) -> EditRefusal:
    """Refuse a quote that matches several places, which begin at these lines, counted from 1."""
    lines = list(dict.fromkeys(starts))
    noun = "line" + "s" * (len(lines) > 1)
    where = f"{len(starts)} places, at {noun} {join_limited(lines, _SHOWN_PLACES)}"
    text = f"`old` matches {where}. Quote more lines around the place you mean, or set replace_all to change them all."
    if rung != MatchLevel.EXACT:
        advice = "Quote the place you mean exactly, with more lines around it."
        text = f"`old` is not in the file exactly; {_LOOSELY[rung]} it matches {where}. {advice}"
    return EditRefusal(reason=EditRefusalReason.AMBIGUOUS, text=text)


def refuse_unsafe(why: str, bodies: Sequence[str], start: int, count: int) -> EditRefusal:
    """Refuse a quote that matches only lines `start` up to `start + count`, counted from 0, and would do harm there."""
    where = f"lines {start + 1}-{start + count}" if count > 1 else f"line {start + 1}"
    text = (
        f"`old` is not in the file exactly. It resembles {where}, but {why}. "
        f"Quote exactly what is there, without the numbers:\n{_number_lines(bodies, start, start + count)}"
    )
    return EditRefusal(reason=EditRefusalReason.UNFIT, text=text[:LIMIT_CHARS])


def refuse_not_found(bodies: Sequence[str], old: Sequence[str], new: Sequence[str]) -> EditRefusal:
    """Refuse a quote that is nowhere in the file, and show what is nearest to it."""
    parts = ["`old` was not found in the file."] if bodies else ["The file is empty: use write."]
    if not _ELISIONS.isdisjoint(map(str.strip, old)):
        parts.append("`...` does not stand for left-out lines: quote every line.")
    if any("\ufffd" in line for line in old):
        parts.append("It quotes a replacement character: bytes that are not UTF-8 cannot be quoted, leave them out.")
    there = file_text.find_line_sequences(bodies, new, file_text.LINE_KEYS[MatchLevel.TRAILING])
    if there and any(map(file_text.fold_and_strip_line, new)):
        parts.append(f"The text of `new` is already there, at line {there[0] + 1}: was this edit made before?")
    if nearest := _find_nearest(bodies, old):
        start, end = nearest
        if _has_tabs(bodies[start:end]) and not _has_tabs(old):
            parts.append("The file indents with tabs there.")
        parts.append(f"The nearest lines, to be quoted without the numbers:\n{_number_lines(bodies, start, end)}")
    elif bodies:
        parts.append("No line resembles it. Read the file again before the next edit.")
    return EditRefusal(reason=EditRefusalReason.NOT_FOUND, text=" ".join(parts)[:LIMIT_CHARS])


_LOOSELY = {
    MatchLevel.TRAILING: "with white space at line ends ignored,",
    MatchLevel.TYPOGRAPHY: "with quotes, dashes and spaces of any kind taken as equal,",
    MatchLevel.INDENT: "with indentation ignored,",
    MatchLevel.NUMBERS: "without its line numbers,",
}


def _has_tabs(lines: Iterable[str]) -> bool:
    return any(line.startswith("\t") for line in lines)


def _number_lines(bodies: Sequence[str], start: int, end: int) -> str:
    lines = []
    for number, body in enumerate(bodies[start : min(end, start + _SHOWN_LINES)], start=start + 1):
        line = f"{number}\t{file_text.replace_surrogates(body[:_SHOWN_CHARS])}"
        if len(body) > _SHOWN_CHARS:
            line = f"{line} …"
        lines.append(line)
    return "\n".join(lines)


def _find_nearest(bodies: Sequence[str], old: Sequence[str]) -> tuple[int, int] | None:
    """Return the window of as many lines as `old` has that shares the most words with it, if it shares enough."""
    wanted = [set(_WORD.findall(line)) for line in old[:_COMPARED_LINES]]
    total = sum(map(bool, wanted))
    if not bodies or not total:
        return None
    owners: dict[str, list[int]] = {}
    for index, words in enumerate(wanted):
        for word in words:
            owners.setdefault(word, []).append(index)
    scores = []
    for line in bodies[:_SEARCHED_LINES]:
        scores.append(_measure_likeness(set(_WORD.findall(line)), wanted, owners))
    sums = [0.0, *accumulate(scores)]
    size = min(len(wanted), len(scores))
    best = max(range(len(scores) - size + 1), key=lambda start: sums[start + size] - sums[start])
    if sums[best + size] - sums[best] >= _NEAR * total:
        return (best, best + size)
    return None


def _measure_likeness(words: set[str], wanted: Sequence[set[str]], owners: dict[str, list[int]]) -> float:
    """Return how many words a line shares with the most alike line of `wanted`, from 0 to 1 (Dice's coefficient)."""
    shared = Counter[int]()
    for word in words:
        shared.update(owners.get(word, ()))
    likeness = 0.0
    for index, count in shared.items():
        likeness = max(likeness, 2 * count / (len(words) + len(wanted[index])))
    return likeness
