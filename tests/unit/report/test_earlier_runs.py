"""What earlier runs cost, in words, and the budget that follows."""

import pytest

from orchestrator.report.cost.earlier_runs import (
    EndedRunCost,
    describe_earlier_costs,
    suggest_budget_usd,
    summarize_earlier_costs,
)


@pytest.mark.parametrize(
    ("costs", "words", "budget"),
    [
        ([], "", 20),
        ([(1.5, 10)], "the last run of this repository that ended cost $1.50 (median), at most $1.50", 3),
        (
            [(1.0, 10), (2.0, 20), (None, 30), (9.3, 40)],
            "the last 4 runs of this repository that ended cost $2.00 (median), at most $9.30",
            19,
        ),
        (
            [(None, 1_000), (None, 3_000)],
            "the last 2 runs of this repository that ended cost 2,000 tokens (median), at most 3,000 tokens",
            20,
        ),
    ],
)
def test_earlier_costs_are_told_in_what_is_known_and_suggest_twice_the_largest(
    costs: list[tuple[float | None, int]], words: str, budget: float
) -> None:
    earlier = summarize_earlier_costs([EndedRunCost(*cost) for cost in costs])
    assert (describe_earlier_costs(earlier), suggest_budget_usd(earlier)) == (words, budget)
