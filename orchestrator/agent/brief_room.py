"""The room that the words of a brief have in a model's window. Pure."""

from dataclasses import dataclass

from orchestrator.agent.carryover_report import estimate_most_tokens
from orchestrator.agent.carryover_turns import LARGEST_BEGINNING_SHARE
from orchestrator.agent.context_size import CHARS_PER_TOKEN

_BRIEF_SHARE = 1 / 3
_RULES_SHARE = 1 / 6
_MEMORY_SHARE = 1 / 16
"""Shares of a model's window that a role's own brief, the project's rules, and the words of memory may fill."""
_LEAST_FACTOR = 1 / 8
"""All three have at least this part of their share, however little the instructions and tools leave."""
_FRAME_CHARS = 3_000
"""More than what stands around these words takes: who they are from, marks, and lines of what is left out."""
_WIDE_SHARE = 1 / 2
"""Share of a window for instructions and tools, beyond which little can be done in it."""


@dataclass(frozen=True)
class BriefRoom:
    """Characters that a role's own brief, the project's rules, and the words of memory may have."""

    brief: int
    rules: int
    memory: int


def find_brief_room(context_tokens: int, fixed_chars: int = 0) -> BriefRoom:
    """Return the room in a window of so many tokens.

    `fixed_chars` is the size of instructions and tools. Where they take much of the window all else gets less, so that
    the beginning and a carryover leave room for work.
    """
    window = context_tokens * CHARS_PER_TOKEN
    carryover = estimate_most_tokens(context_tokens) * CHARS_PER_TOKEN
    left = window * LARGEST_BEGINNING_SHARE - carryover - fixed_chars - _FRAME_CHARS
    usual = window * (_BRIEF_SHARE + _RULES_SHARE + _MEMORY_SHARE)
    scaled = window * min(1.0, max(left / usual, _LEAST_FACTOR))
    return BriefRoom(int(scaled * _BRIEF_SHARE), int(scaled * _RULES_SHARE), int(scaled * _MEMORY_SHARE))


def is_too_narrow(context_tokens: int, fixed_chars: int) -> bool:
    """Return True if instructions and tools take most of a window."""
    return fixed_chars > context_tokens * CHARS_PER_TOKEN * _WIDE_SHARE
