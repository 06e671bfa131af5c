"""The cost of a run as rows: by task, role, model, outcome and waste, each with its part of the whole."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.ids import TaskId
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.durations import format_short_duration
from orchestrator.domain.text.money import UNKNOWN_PRICE, format_dollars, format_price
from orchestrator.report.cost.breakdown import CostBreakdown, CostEntry
from orchestrator.report.cost.budgets import build_accounts
from orchestrator.report.log.event_descriptions import shorten_model_name
from orchestrator.report.rows.agent_row import format_tokens
from orchestrator.report.rows.row_filter import FilterValue
from orchestrator.tui.rows.spending import (
    CostForecast,
    forecast_cost,
    get_cached_share,
    get_cost_per_landed,
    get_hourly_cost,
    get_known_cost,
    sum_usage_by_fate,
)

SPEND_KEYS = ("name", "status", "attempts", "cost", "tokens", "calls")
"""The fields that filters of costs can name."""
SpendSide = Literal["task", "role", "model", "outcome", "waste"]
SPEND_SIDES: tuple[SpendSide, ...] = ("task", "role", "model", "outcome", "waste")
"""The sides from which a cost can be looked at."""


@dataclass(frozen=True)
class SpendRow:
    """One line. `share` is its part of the whole, from 0 to 1; `detail` is a task's status, else a count in words.

    `depth` is that of a task in the tree, whose amounts are with all below it.
    """

    name: str
    spent: Usage
    share: float
    detail: str = ""
    attempts: int = 0
    depth: int = 0

    @property
    def price(self) -> str:
        """The price; empty if no model was called."""
        if self.spent.calls:
            return format_price(self.spent)
        return ""

    def get_filter_values(self) -> Mapping[str, FilterValue]:
        """Return the values that filters compare."""
        return {
            "name": self.name,
            "status": self.detail,
            "attempts": float(self.attempts),
            "cost": get_known_cost(self.spent),
            "tokens": float(self.spent.tokens),
            "calls": float(self.spent.calls),
        }


def build_spend_rows(state: RunState, cost: CostBreakdown, by: SpendSide) -> list[SpendRow]:
    """Return the rows of one breakdown: tasks in the order of the tree, everything else with the largest first."""
    if by == "task":
        return [_task(state, cost, entry) for entry in cost.tasks]
    rows = []
    for name, spent, detail in _entries(state, cost, by):
        rows.append(SpendRow(name, spent, cost.get_share(spent), detail))
    return sorted(rows, key=lambda row: (-row.share, row.name))


def _task(state: RunState, cost: CostBreakdown, entry: CostEntry) -> SpendRow:
    depth = state.tasks[TaskId(entry.name)].spec.depth
    return SpendRow(entry.name, entry.spent, cost.get_share(entry.spent), entry.detail, entry.count, depth)


def _entries(state: RunState, cost: CostBreakdown, by: SpendSide) -> Iterator[tuple[str, Usage, str]]:
    if by == "outcome":
        for name, spent in sum_usage_by_fate(state, cost).items():
            yield name, spent, ""
    elif by == "model":
        for entry in cost.models:
            yield shorten_model_name(entry.name), entry.spent, ""
    elif by == "waste":
        for entry in cost.waste:
            yield entry.name, entry.spent, f"{entry.count} times"
    else:
        for entry in cost.roles:
            yield entry.name, entry.spent, ""


def render_spend_lines(state: RunState, cost: CostBreakdown) -> Iterator[str]:
    """Return some lines that sum up, the most important first."""
    yield "   ".join(_list_amounts(state))
    yield "   ".join(_list_rates(state, cost))
    spent, cached = state.spend.total, ""
    if spent.cached_tokens:
        cached = f" (cache {get_cached_share(spent):.0%})"
    out = f"out {format_tokens(spent.output_tokens)}"
    yield f"tokens in {format_tokens(spent.input_tokens)}{cached} {out}   {spent.calls:,} model calls"


def _list_amounts(state: RunState) -> Iterator[str]:
    """Yield what is spent, expected, reserved, at risk and unknown."""
    spent, account = state.spend.total, build_accounts(state).get_run_account()
    limit = ""
    if account.limit.usd:
        limit = f" of {format_dollars(account.limit.usd)}"
        if (known := get_known_cost(spent)) is not None:
            limit += f" ({known / account.limit.usd:.0%})"
    yield f"spent {format_price(spent)}{limit}"
    if state.ended is None and spent.calls:
        yield _format_forecast(forecast_cost(state))
    if account.reserved.calls:
        yield f"reserved {format_price(account.reserved)}"
    if state.spend.at_risk.calls:
        yield f"at risk {format_price(state.spend.at_risk)}"
    if spent.unpriced_calls:
        yield f"{spent.unpriced_calls:,} calls of unknown price"


def _list_rates(state: RunState, cost: CostBreakdown) -> Iterator[str]:
    """Yield the cost per landed unit, what was wasted, and the cost per hour."""
    unit = "file" if state.run.mode == "migration" else "task"
    yield f"per merged {unit} {format_dollars(get_cost_per_landed(state))}"
    wasted = cost.wasted
    if wasted.calls:
        yield f"wasted {format_price(wasted)} ({cost.get_share(wasted):.0%} of the {_MEASURES[cost.measure]})"
    else:
        yield "nothing wasted"
    hourly = get_hourly_cost(state)
    rate = format_dollars(hourly)
    if hourly is not None:
        rate += "/h"
    yield f"burn {rate} over {format_short_duration(state.wall_s)} of work"


_MEASURES = {"usd": "dollars", "tokens": "tokens", "calls": "calls"}


def _format_forecast(forecast: CostForecast | None) -> str:
    if forecast is None:
        return f"forecast {UNKNOWN_PRICE}"
    low, high = format_dollars(forecast.low), format_dollars(forecast.high)
    return f"forecast {format_dollars(forecast.usd)} ({low} to {high})"


def render_top_rows(rows: list[SpendRow], most: int = 4) -> str:
    """Return the first rows in one line: `worker $14.05  judge $3.17  planner $1.20`."""
    return "  ".join(f"{row.name} {row.price or '-'}" for row in rows[:most])
