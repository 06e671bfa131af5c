"""Whole lines that a model quotes, and their replacement in the spelling of what the file really has.

A quote may have the line numbers in it that a tool showed in front of the lines.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from orchestrator.agent.edits import file_text
from orchestrator.agent.edits.file_text import FileLine, FileText, MatchLevel, Splice, align_lines
from orchestrator.domain.text.lazy_pattern import compile_lazily

_NUMBERED = compile_lazily(r"[ ]*(\d{1,7})(?:(\t|→|[ ]?\||:)(.*))?\Z", re.DOTALL)


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
        if not new and old.endswith("\n"):
            return cls(_split_lines(old), ())
        return cls(_split_lines(old), _split_lines(new))

    def build_splice(self, file: FileText, start: int, rung: MatchLevel) -> Splice:
        """Return the splice that puts `new` in place of the lines from `start`, in the file's own spelling.

        Lines that `new` repeats from `old` stay as the file has them.

        Raises:
            UnsafeReplacement: new lines would have to be re-spelt or re-indented by guesswork.
        """
        end = start + len(self.old)
        here = file.lines[start:end]
        respell = _build_respelling([line.body for line in here], self.old, rung)
        style = file.choose_line_ending(start, end)
        lines = []
        for text, kept in zip(self.new, align_lines(self.old, self.new), strict=True):
            if kept is None:
                lines.append(FileLine(respell(text), style))
            else:
                lines.append(FileLine(here[kept].body, here[kept].ending or style))
        if lines:
            lines[-1] = FileLine(lines[-1].body, here[-1].ending)
        elif start and not here[-1].ending:  # the file ends without a newline, and goes on doing so
            start, lines = start - 1, [FileLine(file.lines[start - 1].body, "")]
        return Splice(start, end, tuple(lines))

    def list_unnumbered_readings(self) -> list["LineReplacement"]:
        """Return the readings of a quote whose every line begins with a line number: with and without a space after it.

        Raises:
            UnsafeReplacement: some lines of `new` begin with such a number and some do not.
        """
        old = _NumberedLines.from_lines(self.old)
        if old is None or not old.is_consecutive:
            return []
        new = _NumberedLines.from_lines(self.new)
        if new is None and any(_find_number_mark(line) == old.mark for line in self.new):
            raise UnsafeReplacement(
                "some lines of `new` begin with a line number and some do not; leave the numbers away"
            )
        with_space = without_space = self.new
        if new is not None and new.mark == old.mark:
            with_space, without_space = new.texts, new.texts_without_space
        readings = [LineReplacement(old.texts, with_space)]
        if old.mark in "|:" and old.is_spaced:
            readings.append(LineReplacement(old.texts_without_space, without_space))
        return readings


def _split_lines(text: str) -> tuple[str, ...]:
    return tuple(text.removesuffix("\n").split("\n"))


def _build_respelling(here: Sequence[str], old: Sequence[str], rung: MatchLevel) -> Callable[[str], str]:
    if rung == MatchLevel.TRAILING:
        return str
    if rung != MatchLevel.INDENT:
        letters = _collect_letters(here, old, file_text.fold_line)
        return lambda line: _respell_line(line, letters)
    letters = _collect_letters(here, old, file_text.fold_and_strip_line)
    indent = _Indent.from_lines(here, old)
    return lambda line: indent.apply_to_line(_respell_line(line, letters))


def _collect_letters(here: Sequence[str], old: Sequence[str], key: Callable[[str], str]) -> dict[str, set[str]]:
    """Return for each character of `old` that folding may touch what the file has in its place."""
    letters: dict[str, set[str]] = {}
    for real, quoted in zip(here, old, strict=True):
        size, skip_real, skip_quoted = len(key(quoted)), 0, 0
        if key is file_text.fold_and_strip_line:
            skip_real, skip_quoted = len(file_text.get_indentation(real)), len(file_text.get_indentation(quoted))
        for a, b in zip(real[skip_real:][:size], quoted[skip_quoted:][:size], strict=True):
            if b in file_text.FOLDABLE_CHARACTERS:
                letters.setdefault(b, set()).add(a)
    return letters


def _respell_line(line: str, letters: dict[str, set[str]]) -> str:
    for letter in sorted(set(line) & letters.keys()):
        if len(letters[letter]) > 1:
            raise UnsafeReplacement(
                f"the file spells {letter!r} in more than one way there, so the new lines could be wrong"
            )
    return "".join(next(iter(letters.get(letter, letter))) for letter in line)


@dataclass(frozen=True, slots=True)
class _NumberedLines:
    """Lines as a tool shows them, taken apart: number, mark after it, text."""

    mark: str
    numbers: tuple[int, ...]
    texts: tuple[str, ...]

    @classmethod
    def from_lines(cls, lines: Sequence[str]) -> "_NumberedLines | None":
        """Return the lines taken apart, or None unless every one has a number and the same mark after it.

        A tab may be missing where nothing follows it.
        """
        marks, numbers, texts = set(), [], []
        is_marked = True
        for line in lines:
            match = _NUMBERED.match(line)
            if match is None:
                return None
            mark = _find_number_mark(line)
            if mark is not None:
                marks.add(mark)
            is_marked = is_marked and match[2] is not None
            numbers.append(int(match[1]))
            texts.append(match[3] or "")
        if len(marks) != 1 or not (is_marked or marks == {"\t"}):
            return None
        return cls(marks.pop(), tuple(numbers), tuple(texts))

    @property
    def is_consecutive(self) -> bool:
        """True if the numbers count up by one, as those of a copied piece do."""
        return self.numbers == tuple(range(self.numbers[0], self.numbers[0] + len(self.numbers)))

    @property
    def is_spaced(self) -> bool:
        """True if a space that may belong to the mark follows it in every line."""
        return all(text[:1] in {"", " "} for text in self.texts)

    @property
    def texts_without_space(self) -> tuple[str, ...]:
        """The texts without that space."""
        return tuple(text.removeprefix(" ") for text in self.texts)


def _find_number_mark(line: str) -> str | None:
    """Return what follows the line number that the line begins with, or None."""
    match = _NUMBERED.match(line)
    if match and match[2]:
        return match[2].strip(" ")
    return None


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
            if file_text.fold_and_strip_line(quoted):
                pairs.append((file_text.get_indentation(real), file_text.get_indentation(quoted)))
        steps = {_find_step(real, quoted) for real, quoted in pairs}
        step = steps.pop()
        if steps or step is None:
            raise UnsafeReplacement(
                "its indentation differs from the file's, and not by the same white space in every line"
            )
        return cls(*step, frozenset(quoted for _, quoted in pairs))

    def apply_to_line(self, line: str) -> str:
        if not file_text.fold_and_strip_line(line):
            return line
        if not self.is_missing:
            if not line.startswith(self.prefix):
                raise UnsafeReplacement(
                    "`old` is indented deeper than the file, and `new` not everywhere as deep as `old`"
                )
            return line.removeprefix(self.prefix)
        depth = self.prefix + file_text.get_indentation(line)
        if " " in depth and "\t" in depth and file_text.get_indentation(line) not in self.known:
            raise UnsafeReplacement("the new lines would be indented with tabs and spaces mixed")
        return self.prefix + line


def _find_step(real: str, quoted: str) -> tuple[str, bool] | None:
    """Return the white space that one indentation has in front of the other, and whether the quoted one lacks it."""
    if real.endswith(quoted):
        return real.removesuffix(quoted), True
    if quoted.endswith(real):
        return (quoted.removesuffix(real), False)
    return None
