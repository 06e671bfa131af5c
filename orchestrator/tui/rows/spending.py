"""A run's money over time: what was spent when, how much it will be in the end, what a merged task costs."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from statistics import fmean, stdev
from typing import ClassVar

from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.event import RecordedEvent, work
from orchestrator.domain.run.state import RunState
from orchestrator.report.cost.breakdown import NO_USAGE, CostBreakdown, RefusedPlanLog
from orchestrator.report.migration.burndown import sum_open_weight
from orchestrator.report.migration.eta import estimate_eta

BIN_S = 600
"""Seconds of the clock that are summed as one."""
MOST_BINS = 1_000
_LEAST_ENDED = 2
_LEAST_WORK_S = 1.0


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
    if state.run.mode == "migration":
        return _of_migration(state)
    return _of_goal(state)


def _of_goal(state: RunState) -> CostForecast | None:
    ended: list[float] = []
    under_way: list[float] = []
    for task in state.tasks.values():
        if task.spec.kind != "leaf":
            continue
        usd = float(state.spend.by_node.get(task.spec.id, NO_USAGE).cost_usd)
        if not task.status.is_terminal:
            under_way.append(usd)
        elif task.attempts:
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


def get_known_cost(usage: Usage) -> float | None:
    """Return the dollars of usage; None if the price of any call is unknown."""
    if usage.unpriced_calls:
        return None
    return float(usage.cost_usd)


def get_cached_share(usage: Usage) -> float:
    """Return the part of the input that came from the provider's cache, from 0 to 1."""
    if usage.input_tokens:
        return usage.cached_tokens / usage.input_tokens
    return 0.0
