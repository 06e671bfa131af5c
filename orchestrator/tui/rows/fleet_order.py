"""The rows of the fleet as somebody looks at them: in some order, narrowed by a filter, what is done as one row."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from orchestrator.domain.text.listing import format_count
from orchestrator.report.rows.activity import Activity
from orchestrator.report.rows.agent_row import AgentRow
from orchestrator.report.rows.row_filter import NO_FILTER, RowFilter

_BIGGEST_FIRST: Mapping[str, Callable[[AgentRow], float]] = {
    "age": lambda row: row.age_s or 0.0,
    "cost": lambda row: row.usd or 0.0,
    "tokens": lambda row: row.spent.tokens,
    "change": lambda row: sum(row.changed_lines or (0, 0)),
}
FLEET_ORDERS: Sequence[str] = ("attention", *_BIGGEST_FIRST, "task")
"""The orders of rows."""
DONE_ROW_ID = "done"
"""The id of the row that stands for all that is done."""


@dataclass(frozen=True)
class FleetViewOptions:
    """Options of the fleet's view. `is_whole` shows finished work row by row."""

    wanted: RowFilter = NO_FILTER
    order: str = "attention"
    is_reversed: bool = False
    is_whole: bool = False

    @property
    def needs_every_file(self) -> bool:
        """True if every file of a migration needs a row: a filter may fit any of them."""
        return self.is_whole or bool(self.wanted.terms)

    def select_rows(self, rows: Sequence[AgentRow]) -> list[AgentRow]:
        """Return the rows to show, of all rows sorted by attention."""
        if self.wanted.terms:
            fitting = [row for row in rows if self.wanted.matches_row(row.get_filter_values())]
        else:
            fitting = list(rows)
        if not self.needs_every_file:
            fitting = _count_done_rows(fitting)
        return self._sort_rows(fitting)

    def _sort_rows(self, rows: list[AgentRow]) -> list[AgentRow]:
        if self.order in _BIGGEST_FIRST:
            rows = sorted(rows, key=_BIGGEST_FIRST[self.order], reverse=True)
        elif self.order == "task":
            rows = sorted(rows, key=lambda row: (row.task, row.id))
        if self.is_reversed:
            return rows[::-1]
        return rows


def _count_done_rows(rows: Sequence[AgentRow]) -> list[AgentRow]:
    """Replace rows of what is done by one row at the end that counts them."""
    kept = []
    for row in rows:
        if row.activity is not Activity.DONE or row.kind == "count":
            kept.append(row)
    done = len(rows) - len(kept)
    if not done:
        return kept
    counted = AgentRow("count", DONE_ROW_ID, "-", Activity.DONE, title=format_count(done, "task"), count=done)
    return [*kept, counted]
