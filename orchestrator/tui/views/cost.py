"""The cost: spent, budget and forecast, what it went to, what of it was wasted, and when it was spent."""

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from orchestrator.domain.event import RecordedEvent
from orchestrator.report.cost.breakdown import CostBreakdown, build_cost_breakdown
from orchestrator.report.rows.agent_row import format_tokens
from orchestrator.tui.rows import spending
from orchestrator.tui.rows.empty_screens import NO_MODEL_ASKED, NOTHING_WASTED
from orchestrator.tui.rows.spending import SPEND_SIDES, SpendLog, SpendRow, SpendSide
from orchestrator.tui.rows.text_plots import get_glyphs, plot_sparkline
from orchestrator.tui.run_feed.event_backfill import EventBackfill
from orchestrator.tui.view_model import ViewModel
from orchestrator.tui.views.base_view import Subject, ThrottledView, format_nonzero
from orchestrator.tui.widgets.drawing import Drawing
from orchestrator.tui.widgets.panel import Panel
from orchestrator.tui.widgets.styled_text import Span
from orchestrator.tui.widgets.table import CellContext, Column, Table, build_row

_COLUMNS = (
    Column("cost", "COST", 9, to_the_right=True, cell=lambda row, _: row.price),
    Column("share", "SHARE", 6, 1, to_the_right=True, cell=lambda row, _: f"{row.share:.1%}" * bool(row.spent.calls)),
    Column("tokens", "TOKENS", 7, priority=2, to_the_right=True, cell=lambda row, _: format_tokens(row.spent.tokens)),
    Column("calls", "CALLS", 6, priority=4, to_the_right=True, cell=lambda row, _: f"{row.spent.calls:,}"),
    Column("tries", "ATT", 3, priority=5, to_the_right=True, cell=lambda row, _: format_nonzero(row.attempts)),
    Column("detail", "STATUS", 10, priority=3, cell=lambda row, _: (row.detail, "dim")),
)


class CostView(ThrottledView):
    """The cost of a run by task, role, model, outcome and waste."""

    TITLE = "Cost"
    KEYS = (("t", "by task, role, model, outcome, waste"), ("s", "sort"), ("enter", "open"))
    FIELDS = spending.SPEND_KEYS
    DEFAULT_CSS = """
    CostView #cost-lines { height: 3; }
    CostView #cost-sides { height: 5; }
    CostView.-brief #cost-sides { display: none; }
    CostView.-tiny #cost-lines { height: 2; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("t", "next_breakdown", "From the next side", show=False, id="cost.side"),
        Binding("s", "toggle_sort", "Sort by cost", show=False, id="cost.sort"),
    ]

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._by: SpendSide = "task"
        self._is_by_cost = False
        self._begin()

    def _begin(self) -> None:
        self._spend = SpendLog()
        self._tail: EventBackfill[RecordedEvent] = EventBackfill(lambda recorded: recorded, SpendLog.KINDS)

    def compose(self) -> ComposeResult:
        """Build sums, a line for each breakdown, and a table of one of them."""
        with Panel(classes="-optional") as sums:
            sums.show_title([("Spending", "title")])
            yield Drawing(id="cost-lines")
            yield Drawing(id="cost-sides")
        with Panel(id="cost-rows"):
            yield Table(_COLUMNS, empty=NO_MODEL_ASKED)

    def paint_view(self, view_model: ViewModel) -> None:
        """Paint everything anew."""
        self._catch_up(view_model)
        cost = build_cost_breakdown(view_model.state, self._spend.refused_plans)
        lines = spending.render_spend_lines(view_model.state, cost)
        self.query_one("#cost-lines", Drawing).show_rows(list(lines))
        rows: list[list[Span]] = []
        for by in SPEND_SIDES[1:]:
            words = spending.render_top_rows(spending.build_spend_rows(view_model.state, cost, by))
            rows.append([(f"by {by}".ljust(12), "dim"), (words or "-", "")])
        shares = list(map(cost.get_share, self._spend.list_bins(view_model.now)))
        self.query_one("#cost-sides", Drawing).show_drawing(
            lambda width, _height: [*rows, self._draw_curve(shares, width - 36)]
        )
        self._put(view_model, cost)

    def _draw_curve(self, shares: Sequence[float], width: int) -> list[Span]:
        curve = plot_sparkline(shares, width, get_glyphs(self.is_ascii).bars)
        when = f"  each {-(-len(shares) // max(width, 1)) * 10} min" if shares else "-"
        return [("over time".ljust(12), "dim"), (curve, "state-run"), (when, "dim")]

    def _put(self, view_model: ViewModel, cost: CostBreakdown) -> None:
        rows = self.filter_rows(spending.build_spend_rows(view_model.state, cost, self._by))
        if self._is_by_cost:
            rows.sort(key=lambda row: -row.share)
        title, empty = self._by.upper(), NO_MODEL_ASKED
        if self._by == "waste":
            title, empty = "WASTED ON", NOTHING_WASTED
        columns = [Column("name", title, 14, grows=True, cell=self._render_name), *_COLUMNS]
        self.table.show_columns(columns)
        self.table.set_empty_text(self.get_empty_text(empty))
        self.query_one("#cost-rows", Panel).show_title(_render_sides(self._by))
        context = self.cell_context
        self.table.show_rows(build_row(row.name, row, columns, context) for row in rows)

    def _render_name(self, row: SpendRow, _context: CellContext) -> str:
        return "  " * (row.depth * (not self._is_by_cost)) + row.name

    def _catch_up(self, view_model: ViewModel) -> None:
        """Read from the journal when money was spent: the state has only sums."""
        if view_model.seq < self._tail.seq:
            self._begin()
        self.catch_up(self._tail, view_model, self._spend.record_events)

    # --- keys --------------------------------------------------------------------------------------------------------

    def action_next_breakdown(self) -> None:
        """Show the next breakdown of the cost."""
        self._by = SPEND_SIDES[(SPEND_SIDES.index(self._by) + 1) % len(SPEND_SIDES)]
        self.repaint_now()

    def action_toggle_sort(self) -> None:
        """Sort tasks in the order of the tree, or the most expensive first."""
        self._is_by_cost = not self._is_by_cost
        self.repaint_now()

    def find_subject(self, key: str) -> Subject | None:
        """Return the task of a row; rows of the other sides are none."""
        if self._by != "task":
            return None
        return Subject("task", key)

    @property
    def status_text(self) -> str:
        """The breakdown, and the number of rows that fit the filter."""
        return f"by {self._by}  {super().status_text}".rstrip()


def _render_sides(chosen: SpendSide) -> list[Span]:
    """Return the names of the breakdowns, with the present one marked."""
    spans: list[Span] = [("Cost by", "title")]
    for side in SPEND_SIDES:
        spans.append((f"  {side}", "chosen" if side == chosen else "dim"))
    return spans
