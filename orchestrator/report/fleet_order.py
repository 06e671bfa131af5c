"""The rows of the fleet as somebody looks at them: in some order, narrowed by a filter, what is done as one row."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from orchestrator.report.agent_row import AgentRow
from orchestrator.report.filtering import NOTHING_LEFT_OUT, Filter
from orchestrator.report.glyphs import Doing

_BIGGEST_FIRST: Mapping[str, Callable[[AgentRow], float]] = {
    "age": lambda row: row.age_s or 0.0,
    "cost": lambda row: row.usd or 0.0,
    "tokens": lambda row: row.spent.tokens,
    "change": lambda row: sum(row.changed or (0, 0)),
}
ORDERS: Sequence[str] = ("attention", *_BIGGEST_FIRST, "task")
"""What rows can be sorted by."""
DONE = "done"
"""The id of the row that stands for all that is done."""


@dataclass(frozen=True)
class Looking:
    """How somebody looks at the fleet. `is_whole` shows what is done row by row."""

    wanted: Filter = NOTHING_LEFT_OUT
    order: str = "attention"
    is_reversed: bool = False
    is_whole: bool = False

    @property
    def needs_whole(self) -> bool:
        """Whether every file of a migration needs a row: a filter may fit any of them."""
        return self.is_whole or bool(self.wanted.terms)

    def shown(self, rows: Sequence[AgentRow]) -> list[AgentRow]:
        """The rows to show, of all there are, which are sorted by attention."""
        fitting = [row for row in rows if self.wanted.fits(row.fields())] if self.wanted.terms else list(rows)
        return self._sorted(fitting if self.needs_whole else _collapsed(fitting))

    def _sorted(self, rows: list[AgentRow]) -> list[AgentRow]:
        if self.order in _BIGGEST_FIRST:
            rows = sorted(rows, key=_BIGGEST_FIRST[self.order], reverse=True)
        elif self.order == "task":
            rows = sorted(rows, key=lambda row: (row.task, row.id))
        return rows[::-1] if self.is_reversed else rows


def _collapsed(rows: Sequence[AgentRow]) -> list[AgentRow]:
    """Without what is done, which is counted in a row at the end."""
    kept = [row for row in rows if row.doing is not Doing.DONE or row.kind == "count"]
    done = len(rows) - len(kept)
    if not done:
        return kept
    counted = AgentRow("count", DONE, "-", Doing.DONE, title=f"{done} task{'s' * (done != 1)}", count=done)
    return [*kept, counted]
