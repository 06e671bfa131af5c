"""A run's money: what was spent when and on what, how much it will be in the end, what a merged task costs."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from statistics import fmean, stdev
from typing import ClassVar, Literal

from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.event import RecordedEvent, work
from orchestrator.domain.ids import TaskId
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.durations import format_short_duration
from orchestrator.domain.text.money import UNKNOWN_COST, format_dollars
from orchestrator.report.cost.breakdown import NO_USAGE, CostBreakdown, RefusedPlanLog
from orchestrator.report.cost.budgets import build_accounts
from orchestrator.report.log.event_descriptions import shorten_model_name
from orchestrator.report.migration.burndown import sum_open_weight
from orchestrator.report.migration.eta import estimate_eta
from orchestrator.report.rows.agent_row import format_tokens
from orchestrator.report.rows.row_filter import FilteredByAttributes

BIN_S = 600
"""Seconds of the clock that are summed as one."""
MOST_BINS = 1_000
_LEAST_ENDED = 2
_LEAST_WORK_S = 1.0
_MEASURES = {"usd": "dollars", "tokens": "tokens", "calls": "calls"}


class SpendLog:
    """Watches a journal go by for what was spent when, and on plans that were refused."""

    KINDS: ClassVar = RefusedPlanLog.KINDS

    def __init__(self) -> None:
        self.refused_plans = RefusedPlanLog()
        self._bins: dict[int, Usage] = {}

    def record_events(self, events: Iterable[RecordedEvent]) -> None:
        """Record events, of which only those of `KINDS` matter."""
        for recorded in events:
            self.refused_plans.record_events((recorded,))
            if isinstance(recorded.event, work.ModelReplied):
                place = int(recorded.at.timestamp()) // BIN_S
                self._bins[place] = self._bins.get(place, NO_USAGE) + recorded.event.usage

    def list_bins(self, now: datetime) -> list[Usage]:
        """Return the usage of every ten minutes from the first call up to `now`, at most the latest `MOST_BINS`."""
        if not self._bins:
            return []
        end = max(int(now.timestamp()) // BIN_S, *self._bins)
        begin = max(min(self._bins), end - MOST_BINS + 1)
        return [self._bins.get(place, NO_USAGE) for place in range(begin, end + 1)]


@dataclass(frozen=True)
class CostForecast:
    """The expected cost of a run at its end, in dollars, with a range."""

    usd: float
    low: float
    high: float


def forecast_cost(state: RunState) -> CostForecast | None:
    """Return the expected cost; None if a price is unknown, too little is done, or the run has ended.

    Of a goal, every task that is still open costs what those did on average that have ended; the range is one standard
    deviation of their sum. A migration goes on at its pace in dollars until it is through, see `estimate_eta`.
    """
    if state.ended is not None or not state.spend.total.calls or state.spend.total.unpriced_calls:
        return None
    return _of_migration(state) if state.run.mode == "migration" else _of_goal(state)


def _of_goal(state: RunState) -> CostForecast | None:
    ended: list[float] = []
    under_way: list[float] = []
    for task in state.tasks.values():
        usd = float(state.spend.by_node.get(task.spec.id, NO_USAGE).cost_usd)
        if task.spec.kind == "leaf" and not task.status.is_terminal:
            under_way.append(usd)
        elif task.spec.kind == "leaf" and task.attempts:
            ended.append(usd)
    if len(ended) < _LEAST_ENDED:
        return None
    average = fmean(ended)
    to_come = sum(max(average - usd, 0.0) for usd in under_way)
    spread = stdev(ended) * len(under_way) ** 0.5
    now = float(state.spend.total.cost_usd)
    return CostForecast(now + to_come, now + max(to_come - spread, 0.0), now + to_come + spread)


def _of_migration(state: RunState) -> CostForecast | None:
    judged = estimate_eta(state.migration.burndown, sum_open_weight(state))
    rate = get_hourly_cost(state)
    if judged is None or rate is None:
        return None
    now, per_s = float(state.spend.total.cost_usd), rate / 3_600
    return CostForecast(now + per_s * judged.seconds, now + per_s * judged.low_s, now + per_s * judged.high_s)


def get_hourly_cost(state: RunState) -> float | None:
    """Return dollars per hour of work so far; None where a price is unknown or no work was done."""
    if state.spend.total.unpriced_calls or not state.spend.total.calls or state.wall_s < _LEAST_WORK_S:
        return None
    return float(state.spend.total.cost_usd) / state.wall_s * 3_600


def get_cost_per_landed(state: RunState) -> float | None:
    """Return dollars of the whole run per landed task, or per landed file; None where that is not known."""
    landed = len(state.landed_units)
    if landed and not state.spend.total.unpriced_calls:
        return float(state.spend.total.cost_usd) / landed
    return None


def sum_usage_by_fate(state: RunState, cost: CostBreakdown) -> Mapping[str, Usage]:
    """Sum usage by what became of its attempt, most first, and the rest as `planning`."""
    sums: dict[str, Usage] = {}
    for attempt in cost.attempts:
        if attempt.spent.calls:
            sums[attempt.detail] = sums.get(attempt.detail, NO_USAGE) + attempt.spent
    ordered = dict(sorted(sums.items(), key=lambda item: (-item[1].cost_usd, -item[1].tokens, item[0])))
    planner = state.spend.by_role.get("planner", NO_USAGE)
    if planner.calls:
        ordered["planning"] = planner
    return ordered


SpendSide = Literal["task", "role", "model", "outcome", "waste"]
SPEND_SIDES: tuple[SpendSide, ...] = ("task", "role", "model", "outcome", "waste")
"""The sides from which a cost can be looked at."""


@dataclass(frozen=True)
class SpendRow(FilteredByAttributes):
    """One line. `share` is its part of the whole, from 0 to 1; `detail` is a task's status, else a count in words.

    `depth` is that of a task in the tree, whose amounts are with all below it.
    """

    FILTER_FIELDS: ClassVar = {
        "name": "name", "status": "detail", "attempts": "attempts", "cost": "spent.usd", "tokens": "spent.tokens",
        "calls": "spent.calls",
    }  # fmt: skip

    name: str
    spent: Usage
    share: float
    detail: str = ""
    attempts: int = 0
    depth: int = 0

    @property
    def price(self) -> str:
        """The price; empty if no model was called."""
        return self.spent.cost_text * bool(self.spent.calls)


SPEND_KEYS = tuple(SpendRow.FILTER_FIELDS)
"""The fields that filters of costs can name."""


def build_spend_rows(state: RunState, cost: CostBreakdown, by: SpendSide) -> list[SpendRow]:
    """Return the rows of one breakdown: tasks in the order of the tree, everything else with the largest first."""
    share = cost.get_share
    match by:
        case "task":
            rows = []
            for entry in cost.tasks:
                depth = state.tasks[TaskId(entry.name)].spec.depth
                rows.append(SpendRow(entry.name, entry.spent, share(entry.spent), entry.detail, entry.count, depth))
            return rows
        case "outcome":
            rows = [SpendRow(name, spent, share(spent)) for name, spent in sum_usage_by_fate(state, cost).items()]
        case "model":
            rows = [SpendRow(shorten_model_name(one.name), one.spent, share(one.spent)) for one in cost.models]
        case "waste" | "role":
            entries, how = (cost.waste, "{} times") if by == "waste" else (cost.roles, "")
            rows = [SpendRow(one.name, one.spent, share(one.spent), how.format(one.count)) for one in entries]
    return sorted(rows, key=lambda row: (-row.share, row.name))


def render_spend_lines(state: RunState, cost: CostBreakdown) -> Iterator[str]:
    """Return some lines that sum up, the most important first."""
    yield "   ".join(_list_amounts(state))
    yield "   ".join(_list_rates(state, cost))
    spent = state.spend.total
    cached = f" (cache {spent.cached_tokens / max(spent.input_tokens, 1):.0%})" * bool(spent.cached_tokens)
    out = f"out {format_tokens(spent.output_tokens)}"
    yield f"tokens in {format_tokens(spent.input_tokens)}{cached} {out}   {spent.calls:,} model calls"


def _list_amounts(state: RunState) -> Iterator[str]:
    """Yield what is spent, expected, reserved, at risk and unknown."""
    spent, account = state.spend.total, build_accounts(state).get_run_account()
    limit = ""
    if account.limit.usd:
        limit = f" of {format_dollars(account.limit.usd)}"
        if (known := spent.usd) is not None:
            limit += f" ({known / account.limit.usd:.0%})"
    yield f"spent {spent.cost_text}{limit}"
    if state.ended is None and spent.calls:
        yield _format_forecast(forecast_cost(state))
    if account.reserved.calls:
        yield f"reserved {account.reserved.cost_text}"
    if state.spend.at_risk.calls:
        yield f"at risk {state.spend.at_risk.cost_text}"
    if spent.unpriced_calls:
        yield f"{spent.unpriced_calls:,} calls of unknown price"


def _list_rates(state: RunState, cost: CostBreakdown) -> Iterator[str]:
    """Yield the cost per landed unit, what was wasted, and the cost per hour."""
    unit = "file" if state.run.mode == "migration" else "task"
    yield f"per merged {unit} {format_dollars(get_cost_per_landed(state))}"
    wasted = cost.wasted
    if wasted.calls:
        yield f"wasted {wasted.cost_text} ({cost.get_share(wasted):.0%} of the {_MEASURES[cost.measure]})"
    else:
        yield "nothing wasted"
    hourly = get_hourly_cost(state)
    rate = format_dollars(hourly) + "/h" * (hourly is not None)
    yield f"burn {rate} over {format_short_duration(state.wall_s)} of work"


def _format_forecast(forecast: CostForecast | None) -> str:
    if forecast is None:
        return f"forecast {UNKNOWN_COST}"
    low, high = format_dollars(forecast.low), format_dollars(forecast.high)
    return f"forecast {format_dollars(forecast.usd)} ({low} to {high})"


def render_top_rows(rows: list[SpendRow], most: int = 4) -> str:
    """Return the first rows in one line: `worker $14.05  judge $3.17  planner $1.20`."""
    return "  ".join(f"{row.name} {row.price or '-'}" for row in rows[:most])
