"""Whole lines that a model quotes, and how their replacement is carried over to what the file really has."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from orchestrator.agent.edits.file_text import FileLine, FileText, Splice, align_lines
from orchestrator.agent.edits.line_numbers import NumberedLines, find_number_mark
from orchestrator.agent.edits.matching import (
    FOLDABLE_CHARACTERS,
    MatchLevel,
    fold_and_strip_line,
    fold_line,
    get_indentation,
)


class UnsafeReplacement(Exception):
    """`old` matches one place, but `new` cannot be carried over without guessing; the message says why."""


@dataclass(frozen=True, slots=True)
class LineReplacement:
    """A replacement beyond the exact rung: whole lines `old` that become whole lines `new`."""

    old: tuple[str, ...]
    new: tuple[str, ...]

    @classmethod
    def from_texts(cls, old: str, new: str) -> "LineReplacement":
        """Split both at newlines; one at the end makes no difference, but if `new` is empty: then the lines go."""
        removes = not new and old.endswith("\n")
        return cls(_lines(old), () if removes else _lines(new))

    def build_splice(self, file: FileText, start: int, rung: MatchLevel) -> Splice:
        """Return the splice that puts `new` in place of the lines from `start`, in the file's own spelling.

        Lines that `new` repeats from `old` stay as the file has them.

        Raises:
            Unfit: new lines would have to be re-spelt or re-indented by guesswork.
        """
        end = start + len(self.old)
        here = file.lines[start:end]
        respell = _respelling([line.body for line in here], self.old, rung)
        style = file.choose_line_ending(start, end)
        lines = []
        for text, kept in zip(self.new, align_lines(self.old, self.new), strict=True):
            lines.append(
                FileLine(respell(text), style)
                if kept is None
                else FileLine(here[kept].body, here[kept].ending or style)
            )
        if lines:
            lines[-1] = FileLine(lines[-1].body, here[-1].ending)
        elif start and not here[-1].ending:  # the file ends without a newline, and goes on doing so
            start, lines = start - 1, [FileLine(file.lines[start - 1].body, "")]
        return Splice(start, end, tuple(lines))

    def list_unnumbered_readings(self) -> list["LineReplacement"]:
        """Return the readings of a quote whose every line begins with a line number: with and without a space after it.

        Raises:
            Unfit: some lines of `new` begin with such a number and some do not.
        """
        old = NumberedLines.from_lines(self.old)
        if old is None or not old.is_consecutive:
            return []
        new = NumberedLines.from_lines(self.new)
        if new is None and any(find_number_mark(line) == old.mark for line in self.new):
            raise UnsafeReplacement(
                "some lines of `new` begin with a line number and some do not; leave the numbers away"
            )
        is_listed = new is not None and new.mark == old.mark
        readings = [LineReplacement(old.texts, new.texts if new and is_listed else self.new)]
        if old.mark in "|:" and old.is_spaced:
            readings.append(
                LineReplacement(old.texts_without_space, new.texts_without_space if new and is_listed else self.new)
            )
        return readings


def _lines(text: str) -> tuple[str, ...]:
    return tuple(text.removesuffix("\n").split("\n"))


def _respelling(here: Sequence[str], old: Sequence[str], rung: MatchLevel) -> Callable[[str], str]:
    if rung == MatchLevel.TRAILING:
        return str
    letters = _letters(here, old, fold_and_strip_line if rung == MatchLevel.INDENT else fold_line)
    if rung != MatchLevel.INDENT:
        return lambda line: _respelt(line, letters)
    indent = _Indent.from_lines(here, old)
    return lambda line: indent.apply_to_line(_respelt(line, letters))


def _letters(here: Sequence[str], old: Sequence[str], key: Callable[[str], str]) -> dict[str, set[str]]:
    """Return for each character of `old` that folding may touch what the file has in its place."""
    letters: dict[str, set[str]] = {}
    for real, quoted in zip(here, old, strict=True):
        size = len(key(quoted))
        skip_real, skip_quoted = (
            len(get_indentation(text)) if key is fold_and_strip_line else 0 for text in (real, quoted)
        )
        for a, b in zip(real[skip_real:][:size], quoted[skip_quoted:][:size], strict=True):
            if b in FOLDABLE_CHARACTERS:
                letters.setdefault(b, set()).add(a)
    return letters


def _respelt(line: str, letters: dict[str, set[str]]) -> str:
    for letter in sorted(set(line) & letters.keys()):
        if len(letters[letter]) > 1:
            raise UnsafeReplacement(
                f"the file spells {letter!r} in more than one way there, so the new lines could be wrong"
            )
    return "".join(next(iter(letters.get(letter, letter))) for letter in line)


@dataclass(frozen=True, slots=True)
class _Indent:
    """One prefix that every line of the file has and every line of `old` lacks, or the other way round."""

    prefix: str
    is_missing: bool
    known: frozenset[str]

    @classmethod
    def from_lines(cls, here: Sequence[str], old: Sequence[str]) -> "_Indent":
        pairs = []
        for real, quoted in zip(here, old, strict=True):
            if fold_and_strip_line(quoted):
                pairs.append((get_indentation(real), get_indentation(quoted)))
        found = {_step(real, quoted) for real, quoted in pairs}
        step = found.pop()
        if found or step is None:
            raise UnsafeReplacement(
                "its indentation differs from the file's, and not by the same white space in every line"
            )
        return cls(*step, frozenset(quoted for _, quoted in pairs))

    def apply_to_line(self, line: str) -> str:
        if not fold_and_strip_line(line):
            return line
        if not self.is_missing:
            if not line.startswith(self.prefix):
                raise UnsafeReplacement(
                    "`old` is indented deeper than the file, and `new` not everywhere as deep as `old`"
                )
            return line.removeprefix(self.prefix)
        depth = self.prefix + get_indentation(line)
        if " " in depth and "\t" in depth and get_indentation(line) not in self.known:
            raise UnsafeReplacement("the new lines would be indented with tabs and spaces mixed")
        return self.prefix + line


def _step(real: str, quoted: str) -> tuple[str, bool] | None:
    """Return the white space that one indentation has in front of the other, and whether the quoted one lacks it."""
    if real.endswith(quoted):
        return real.removesuffix(quoted), True
    if quoted.endswith(real):
        return (quoted.removesuffix(real), False)
    return None
