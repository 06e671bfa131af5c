"""The cost of earlier runs of a repository, summed up and in words, and the budget that it suggests."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from orchestrator.domain.text.money import format_dollars
from orchestrator.report.cost.model import EarlierCosts

DEFAULT_BUDGET_USD = 20.0
"""The budget that is suggested where no earlier run says more."""
_HEADROOM = 2


@dataclass(frozen=True)
class EndedRunCost:
    """The cost of one run that ended; `usd` is None if part of it has no known price."""

    usd: float | None
    tokens: int


def summarize_earlier_costs(costs: Sequence[EndedRunCost]) -> EarlierCosts | None:
    """Return the median and the largest cost of these runs; None if there are none."""
    if not costs:
        return None
    dollars = []
    for cost in costs:
        if cost.usd is not None:
            dollars.append(cost.usd)
    tokens = [cost.tokens for cost in costs]
    median_usd = largest_usd = None
    if dollars:
        median_usd, largest_usd = median(dollars), max(dollars)
    return EarlierCosts(
        runs=len(costs),
        median_usd=median_usd,
        largest_usd=largest_usd,
        median_tokens=int(median(tokens)),
        largest_tokens=max(tokens),
    )


def describe_earlier_costs(earlier: EarlierCosts | None) -> str:
    """Return what earlier runs cost, as a clause: in dollars where some are known, else in tokens. Empty for none."""
    if earlier is None:
        return ""
    which = "the last run"
    if earlier.runs > 1:
        which = f"the last {earlier.runs} runs"
    if earlier.median_usd is not None and earlier.largest_usd:
        amounts = format_dollars(earlier.median_usd), format_dollars(earlier.largest_usd)
    else:
        amounts = f"{earlier.median_tokens:,} tokens", f"{earlier.largest_tokens:,} tokens"
    return f"{which} of this repository that ended cost {amounts[0]} (median), at most {amounts[1]}"


def suggest_budget_usd(earlier: EarlierCosts | None) -> float:
    """Return a budget for a run: twice what the dearest earlier one cost, in whole dollars; 20 if nothing is known."""
    if earlier is None or not earlier.largest_usd:
        return DEFAULT_BUDGET_USD
    return float(max(1, -(-earlier.largest_usd * _HEADROOM // 1)))
