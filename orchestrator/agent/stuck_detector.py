"""Noticing that an agent goes round in circles, from the turns alone."""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from functools import partial
from itertools import takewhile

from orchestrator.agent.turn import Turn
from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.text.encoding import decode_json
from orchestrator.domain.text.lazy_pattern import compile_lazily

WINDOW_TURNS = 20
_VARYING = compile_lazily(
    r"""
      \b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b       # UUID
    | \b\d{4}-\d\d-\d\d[T\ ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?  # date and time
    | \b\d\d:\d\d:\d\d(?:[.,]\d+)?\b                        # time of day
    | \b\d+(?:\.\d+)?\ ?(?:ns|us|µs|ms|s|secs?|seconds?)\b  # duration
    | \b0x[0-9a-f]+\b                                       # address
    | \b(?:pid|tid|id|call)[=:_\ -]\ ?\w*\d\w*              # process and call ids
    | \b1[5-9]\d{8}(?:\.\d+)?\b                             # seconds since 1970
    """,
    re.VERBOSE | re.IGNORECASE,
)


class TurnFingerprint(FrozenModel):
    """One turn as the detector sees it, equal to another if nothing but ids, times and durations differ.

    `actions` are the tool calls as name and arguments, empty in a text-only reply; `observation` is what they
    returned; `is_error` that one of them failed.
    """

    actions: tuple[str, ...]
    observation: str = ""
    is_error: bool = False


class StuckPatternName(StrEnum):
    """The ways of being stuck."""

    REPETITION = "repetition"
    ERROR = "repeated-error"
    MONOLOGUE = "monologue"
    ALTERNATION = "alternation"


class StuckPattern(FrozenModel):
    """A circle of `length` turns at the end of the window, in words; not `is_stuck` yet at one turn below the limit.

    `sentence` says what happened; `nudge` is what to tell the model at that moment, empty at any other.
    """

    name: StuckPatternName
    length: int
    is_stuck: bool
    sentence: str
    nudge: str = ""


def find_stuck_pattern(turns: Sequence[TurnFingerprint]) -> StuckPattern | None:
    """Return the pattern in which the last turns are stuck, or the one they are a turn away from, or None."""
    window = turns[-WINDOW_TURNS:]
    nearly: StuckPattern | None = None
    for name, measure in _MEASURES.items():
        pattern = _build_pattern(name, measure(window))
        if pattern is not None and pattern.is_stuck:
            return pattern
        nearly = nearly or pattern
    return nearly


def fingerprint_turn(turn: Turn) -> TurnFingerprint:
    """Return the turn without what varies between equal turns."""
    results = [turn.observations[call.id] for call in turn.tool_calls if call.id in turn.observations]
    return TurnFingerprint(
        actions=tuple(f"{call.name} {_sort_arguments(call.arguments)}" for call in turn.tool_calls),
        observation=_VARYING.sub("…", "\n".join(results)),
        is_error=turn.failed,
    )


class StuckDetector:
    """Follows a session turn by turn; begins with the turns that were there before."""

    def __init__(self, turns: Iterable[Turn] = ()) -> None:
        self._turns = [fingerprint_turn(turn) for turn in turns if not turn.is_interrupted]
        self._found = find_stuck_pattern(self._turns)

    def record_turn(self, turn: Turn) -> str:
        """Take one more turn into account.

        Returns:
            what to tell the model now, empty unless it is one turn away from being stuck.
        """
        self._turns = [*self._turns[1 - WINDOW_TURNS :], fingerprint_turn(turn)]
        self._found = find_stuck_pattern(self._turns)
        return self._found.nudge if self._found else ""

    @property
    def pattern(self) -> str:
        """In words, how the session is stuck; empty while it is not."""
        return self._found.sentence if self._found and self._found.is_stuck else ""


def _sort_arguments(written: str) -> str:
    """Return arguments with their keys in order, so that their meaning is compared; as written if they are no JSON."""
    try:
        return json.dumps(decode_json(written), sort_keys=True)
    except (ValueError, RecursionError):
        return " ".join(written.split())


def _count_same(is_same: Callable[[TurnFingerprint, TurnFingerprint], bool], turns: Sequence[TurnFingerprint]) -> int:
    """Return how many of the last turns are the same as the very last one."""
    return len(list(takewhile(lambda turn: is_same(turn, turns[-1]), reversed(turns))))


def _repeats_error(turn: TurnFingerprint, last: TurnFingerprint) -> bool:
    return turn.is_error and turn.actions == last.actions != ()


def _measure_alternation(turns: Sequence[TurnFingerprint]) -> int:
    """Return how many of the last turns are A, B, A, B and so on, A being unlike B."""
    if len(turns) < 2 or turns[-1] == turns[-2] or not all(turn.actions for turn in turns[-2:]):
        return 0
    pairs = zip(reversed(turns), reversed(turns[:-2]), strict=False)
    return 2 + len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))


_MEASURES: dict[StuckPatternName, Callable[[Sequence[TurnFingerprint]], int]] = {
    StuckPatternName.ERROR: partial(_count_same, _repeats_error),
    StuckPatternName.REPETITION: partial(_count_same, lambda turn, last: turn == last and bool(turn.actions)),
    StuckPatternName.MONOLOGUE: partial(_count_same, lambda turn, _: not turn.actions),
    StuckPatternName.ALTERNATION: _measure_alternation,
}
_LIMITS = {
    StuckPatternName.ERROR: 3,
    StuckPatternName.REPETITION: 4,
    StuckPatternName.MONOLOGUE: 3,
    StuckPatternName.ALTERNATION: 6,
}
_SENTENCES = {
    StuckPatternName.ERROR: "the same action failed {} times in a row",
    StuckPatternName.REPETITION: "the same action had the same result {} times in a row",
    StuckPatternName.MONOLOGUE: "{} replies in a row used no tool",
    StuckPatternName.ALTERNATION: "the same two actions with the same results took turns for {} turns",
}
_ADVICE = {
    StuckPatternName.ERROR: "Read what it says and do something else: look at the cause, or take another way.",
    StuckPatternName.REPETITION: "Doing it again will change nothing. Use what you know now, or take another way.",
    StuckPatternName.MONOLOGUE: (
        "Words alone change nothing: use a tool now, the one that ends the session if you are done."
    ),
    StuckPatternName.ALTERNATION: "That is a circle. Decide for one way, or take a third one.",
}
_HINTS = {StuckPatternName.MONOLOGUE: "; can this model call tools?"}
"""For the person who reads why a session ended."""


def _build_pattern(name: StuckPatternName, length: int) -> StuckPattern | None:
    limit = _LIMITS[name]
    if length < limit - 1:
        return None
    sentence = _SENTENCES[name].format(length)
    if length >= limit:
        return StuckPattern(name=name, length=length, is_stuck=True, sentence=sentence + _HINTS.get(name, ""))
    nudge = f"{sentence[0].upper()}{sentence[1:]}. {_ADVICE[name]} One more ends the session."
    return StuckPattern(name=name, length=length, is_stuck=False, sentence=sentence, nudge=nudge)
