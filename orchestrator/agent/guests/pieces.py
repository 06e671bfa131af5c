"""What a guest says, piece by piece; each becomes a turn of its conversation in the journal."""

from dataclasses import dataclass, field
from typing import Protocol

from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.run.task import Exit

UNKNOWN_USAGE = Usage(calls=1, unpriced_calls=1)
"""What a guest used that does not tell: one call, at a price that nobody knows."""


@dataclass(frozen=True)
class GuestEnd:
    """How a guest ended, and what it says it used in all."""

    exit: Exit
    detail: str = ""
    usage: Usage = field(default=UNKNOWN_USAGE)


@dataclass(frozen=True)
class GuestPiece:
    """Words of a guest, or what it says it did; with the last one comes the end."""

    text: str
    end: GuestEnd | None = None


class Guest(Protocol):
    """A guest at work."""

    async def read_piece(self) -> GuestPiece:
        """Return what it says next, as soon as that is worth a turn."""

    async def ask_to_stop(self) -> None:
        """Let it know that it has to end; it is killed a moment later."""

    async def end_commands(self) -> None:
        """End what it had others run for it; what it runs itself ends with it."""
