"""The evidence that fits into an attempt's size of context: pieces in their order, the last one cut by lines."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from orchestrator.domain.recipe.step import ModelStep
from orchestrator.llm.budget import CHARS_PER_TOKEN
from orchestrator.ports.roles import ContextPiece

_MARK_CHARS = 60
"""Room for the line that says how much is not shown."""


@dataclass(frozen=True)
class ContextEntry:
    """One entry of a step's `context`: what is to be shown, and of how many files."""

    name: str
    count: int


def parse_context_entries(context: Iterable[str]) -> list[ContextEntry]:
    """Return `{siblings:2}` as its name and number; without a number it is 1."""
    found = []
    for item in context:
        name, _, count = item.strip("{}").partition(":")
        found.append(ContextEntry(name, int(count) if count.isdigit() else 1))
    return found


def get_token_budget(step: ModelStep, attempt: int) -> int:
    """Return how many tokens an attempt may be shown, from 1; the last size holds for all further ones."""
    return step.context_tokens[min(attempt, len(step.context_tokens)) - 1]


def fit_pieces(pieces: Iterable[ContextPiece], tokens: int) -> tuple[tuple[ContextPiece, ...], tuple[str, ...]]:
    """Return the pieces that there is room for, and the titles of the others.

    Nothing of a piece is shown after one that had to be cut, so what comes first in the recipe comes first here.
    """
    left = tokens * CHARS_PER_TOKEN
    shown: list[ContextPiece] = []
    left_out: list[str] = []
    for piece in pieces:
        text = _cut_text(piece.text, left)
        if text is None:
            left, text = 0, ""
            left_out.append(piece.title.rstrip(":"))
            continue
        shown.append(piece.model_copy(update={"text": text}))
        left = left - len(text) if text == piece.text else 0
    return tuple(shown), tuple(left_out)


def _cut_text(text: str, room: int) -> str | None:
    """Return the text, or its first lines with a last one that says so; None if not even one line has room."""
    if len(text) <= room:
        return text
    lines = text.split("\n")
    count, used = _count_fitting_lines(lines, room - _MARK_CHARS)
    if not count:
        return None
    return text[:used] + f"[cut here: {count} of {len(lines)} lines are shown]"


def _count_fitting_lines(lines: Sequence[str], room: int) -> tuple[int, int]:
    """Return how many whole lines fit, and how many characters they have with their ends."""
    used = 0
    for count, line in enumerate(lines):
        if used + len(line) + 1 > room:
            return count, used
        used += len(line) + 1
    return len(lines), used
