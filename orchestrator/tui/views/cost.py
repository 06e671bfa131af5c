"""The cost: spent, budget and forecast, what it went to, what of it was wasted, and when it was spent."""

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from orchestrator.domain.event import Recorded
from orchestrator.report.agent_row import tokens_text
from orchestrator.report.cost import Cost, cost_of
from orchestrator.report.plot import ASCII_BARS, BARS, sparkline
from orchestrator.report.spend_rows import SIDES, SPEND_KEYS, By, SpendRow, brief, spend_lines, spend_rows
from orchestrator.report.spending import SpendLog
from orchestrator.tui.moment import Moment
from orchestrator.tui.view import Subject
from orchestrator.tui.views.catching_up import CatchUp
from orchestrator.tui.views.steady import SteadyView
from orchestrator.tui.widgets.cells import Span
from orchestrator.tui.widgets.charts import Drawing
from orchestrator.tui.widgets.table import Column, Row, Table

_COLUMNS = (
    Column("name", "TASK", 14, grows=True),
    Column("cost", "COST", 9, to_the_right=True),
    Column("share", "SHARE", 6, priority=1, to_the_right=True),
    Column("tokens", "TOKENS", 7, priority=2, to_the_right=True),
    Column("calls", "CALLS", 6, priority=4, to_the_right=True),
    Column("tries", "ATT", 3, priority=5, to_the_right=True),
    Column("detail", "STATUS", 10, priority=3),
)
_TITLES: dict[By, str] = {"task": "TASK", "role": "ROLE", "model": "MODEL", "outcome": "OUTCOME", "waste": "WASTED ON"}


class CostView(SteadyView):
    """What a run costs."""

    TITLE = "Cost"
    KEYS = (("t", "by task, role, model, outcome, waste"), ("s", "sort"), ("enter", "open"))
    FIELDS = SPEND_KEYS
    DEFAULT_CSS = """
    CostView > #cost-lines { height: 3; }
    CostView > #cost-sides { height: 5; }
    CostView.-brief > #cost-sides { display: none; }
    CostView.-tiny > #cost-lines { height: 2; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("t", "side", "From the next side", show=False, id="cost.side"),
        Binding("s", "order", "Sort by cost", show=False, id="cost.sort"),
    ]

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._by: By = "task"
        self._is_by_cost = False
        self._total = 0
        self._begin()

    def _begin(self) -> None:
        self._spend = SpendLog()
        self._tail: CatchUp[Recorded] = CatchUp(lambda recorded: recorded, SpendLog.KINDS)
        self._is_reading = False

    def compose(self) -> ComposeResult:
        """Sums, the sides in a line each, and a table of one of them."""
        yield Drawing(id="cost-lines")
        yield Drawing(id="cost-sides")
        yield Table(_COLUMNS, empty="no model was asked", id="cost-table")

    def paint(self, moment: Moment) -> None:
        """All of it anew."""
        self._catch_up(moment)
        cost = cost_of(moment.state, self._spend.refused)
        lines = list(spend_lines(moment.state, cost))
        self.query_one("#cost-lines", Drawing).put(lambda _width, _height: [[(line, "")] for line in lines])
        sides: dict[By, str] = {by: brief(spend_rows(moment.state, cost, by)) for by in SIDES if by != "task"}
        values = [cost.share(usage) for usage in self._spend.bins(moment.now)]
        self.query_one("#cost-sides", Drawing).put(partial(self._sides, sides, values))
        self._put(moment, cost)

    def _sides(self, sides: dict[By, str], values: Sequence[float], width: int, _height: int) -> list[list[Span]]:
        rows: list[list[Span]] = [[(f"by {by}".ljust(12), "dim"), (words or "-", "")] for by, words in sides.items()]
        curve = sparkline(values, width - 36, ASCII_BARS if self.is_ascii else BARS)
        when = f"  each {-(-len(values) // max(width - 36, 1)) * 10} min" if values else "-"
        return [*rows, [("over time".ljust(12), "dim"), (curve, "state-run"), (when, "dim")]]

    def _put(self, moment: Moment, cost: Cost) -> None:
        rows = spend_rows(moment.state, cost, self._by)
        self._total = len(rows)
        fit = [row for row in rows if self.wanted.fits(row.fields())]
        if self._is_by_cost:
            fit.sort(key=lambda row: -row.share)
        first, *others = _COLUMNS
        self._table.put_columns([Column(first.key, _TITLES[self._by], first.width, grows=True), *others])
        empty = "nothing was wasted" if self._by == "waste" else "no model was asked"
        self._table.say_if_empty("nothing fits" if self.wanted.text else empty)
        self._table.put(_row(row, is_flat=self._is_by_cost) for row in fit)

    def _catch_up(self, moment: Moment) -> None:
        """Learn from the journal when what was spent: the state has only sums."""
        if moment.seq < self._tail.seq:
            self._begin()
        if self._is_reading:
            return
        new = self._tail.newest(moment)
        if new is None:
            self._is_reading = True
            self.run_worker(self._read(self._tail, moment), group="cost", exit_on_error=False)
        else:
            self._spend.watch(new)

    async def _read(self, tail: CatchUp[Recorded], moment: Moment) -> None:
        try:
            while tail.seq < moment.seq:
                self._spend.watch(await tail.read(moment.directory.journal, moment.seq))
        finally:
            self._is_reading = False
        self.again()

    @property
    def _table(self) -> Table:
        return self.query_one("#cost-table", Table)

    # --- keys --------------------------------------------------------------------------------------------------------

    def action_side(self) -> None:
        """The same cost from the next side."""
        self._by = SIDES[(SIDES.index(self._by) + 1) % len(SIDES)]
        self.again()

    def action_order(self) -> None:
        """Tasks in the order of the tree, or the most expensive first."""
        self._is_by_cost = not self._is_by_cost
        self.again()

    @on(Table.Opened)
    def open_task(self, message: Table.Opened) -> None:
        """Show a task whole."""
        message.stop()
        if self._by == "task" and message.key is not None:
            self.post_message(self.Opened(Subject("task", message.key)))

    @property
    def chosen(self) -> Sequence[Subject]:
        """The marked tasks, else the one with the cursor; nothing of the other sides."""
        return [Subject("task", key) for key in self._table.chosen] if self._by == "task" else []

    @property
    def told(self) -> str:
        """From which side, and how many fit the filter."""
        return f"by {self._by}" + (f"  {len(self._table.rows)} of {self._total}" if self.wanted.text else "")


def _row(row: SpendRow, *, is_flat: bool) -> Row:
    return Row(
        row.name,
        {
            "name": ("" if is_flat else "  " * row.depth) + row.name,
            "cost": row.price,
            "share": f"{row.share:.1%}" if row.spent.calls else "",
            "tokens": tokens_text(row.spent.tokens),
            "calls": f"{row.spent.calls:,}",
            "tries": str(row.attempts) if row.attempts else "",
            "detail": (row.detail, "dim"),
        },
    )
