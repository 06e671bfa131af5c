"""What a run will have cost, what a merged task costs, and when it was spent."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.event import Event
from orchestrator.domain.event.run import RunEnded
from orchestrator.domain.fold.projection import fold_events
from orchestrator.errors import UsageProblem
from orchestrator.report.cost.breakdown import build_cost_breakdown
from orchestrator.report.cost.budgets import get_budget_limits
from orchestrator.report.rows.row_filter import parse_filter
from orchestrator.tui.rows.spending import (
    BIN_S,
    SPEND_KEYS,
    SPEND_SIDES,
    SpendLog,
    build_spend_rows,
    forecast_cost,
    get_cost_per_landed,
    get_hourly_cost,
    render_spend_lines,
)
from tests.running import migrated
from tests.running.goal_events import DAY, asks, begun, created, ended, judged, merged, recorded, told, worked


def spent(name: str, usd: str | None) -> list[Event]:
    """A worker's call for a task."""
    return asks(f"work:{name}@1", name, "worker", usd)


TWO_DONE = [
    *(created("a"), created("b"), created("d"), created("e")),
    *(*merged("a", spent("a", "1")), *merged("b", spent("b", "3")), *worked("d")[:1], *spent("d", "0.5")),
]
REJECTED = [created("c"), *worked("c", within=spent("c", "0.5")), judged("c", "reject"), ended("c", "rejected", "no")]


def test_a_goal_is_forecast_by_what_its_ended_tasks_cost() -> None:
    found = forecast_cost(told(*TWO_DONE))
    assert found is not None
    assert found.usd == pytest.approx(4.5 + 1.5 + 2.0)  # d has cost a part of the mean of 2 already, e nothing
    assert 4.5 <= found.low < found.usd < found.high


def test_nothing_is_forecast_of_a_run_that_is_over_or_has_an_unknown_price_or_has_hardly_begun() -> None:
    assert forecast_cost(told(*TWO_DONE, RunEnded(outcome="done", reason="", exit=0, head=None))) is None
    assert forecast_cost(told(*TWO_DONE, *asks("judge", "a", "judge", None))) is None
    assert forecast_cost(told(created("a"), *spent("a", "1"), *merged("a"), created("b"))) is None
    assert forecast_cost(told()) is None


def test_a_migration_is_forecast_by_its_pace() -> None:
    events = [*migrated.story()]
    state = migrated.told(*asks("work:lib/test_g.py@1", "lib/test_g.py", "worker", "2"))
    assert len(events) < state.seq
    found, hourly = forecast_cost(state), get_hourly_cost(state)
    assert found is not None and hourly is not None
    assert hourly == pytest.approx(2 / state.wall_s * 3600)
    assert 2 < found.low < found.usd < found.high


def test_dollars_per_merged_task_count_all_that_was_spent() -> None:
    assert get_cost_per_landed(told(*TWO_DONE)) == pytest.approx(4.5 / 2)
    assert get_cost_per_landed(told(created("a"), *spent("a", "1"))) is None
    assert get_cost_per_landed(told(*TWO_DONE, *asks("judge", "a", "judge", None))) is None


def test_what_was_spent_is_summed_by_ten_minutes_with_the_empty_ones_between() -> None:
    log = SpendLog()
    log.record_events(recorded([*begun(), created("a"), *spent("a", "1")], every_s=1))
    log.record_events(one._replace(at=one.at + timedelta(seconds=3 * BIN_S)) for one in recorded(spent("a", "2")))
    bins = log.list_bins(DAY + timedelta(seconds=4 * BIN_S))
    assert [float(one.cost_usd) for one in bins] == [1.0, 0.0, 0.0, 2.0, 0.0]
    assert SpendLog().list_bins(DAY) == []


def test_every_side_of_the_cost_has_its_rows_the_largest_first() -> None:
    refused = SpendLog().refused_plans
    state = told(*TWO_DONE, *REJECTED, *asks("plan:root@1.1", "root", "planner", "1"))
    cost = build_cost_breakdown(state, refused)
    sides = {by: [(row.name, row.price) for row in build_spend_rows(state, cost, by)] for by in SPEND_SIDES}
    assert sides["role"] == [("worker", "$5.00"), ("planner", "$1.00")]
    assert sides["outcome"] == [("landed", "$4.00"), ("planning", "$1.00"), ("open", "$0.50"), ("rejected", "$0.50")]
    assert sides["waste"] == [("rejected attempts", "$0.50")]
    assert dict(sides["task"]) == {"root": "$6.00", "a": "$1.00", "b": "$3.00", "c": "$0.50", "d": "$0.50", "e": ""}
    dear = parse_filter("cost:>=1 status:merged", SPEND_KEYS)
    assert [row.name for row in build_spend_rows(state, cost, "task") if dear.matches_row(row.get_filter_values())] == [
        "a",
        "b",
    ]


def test_a_price_that_nobody_knows_is_unknown_everywhere() -> None:
    state = told(created("a"), *merged("a", spent("a", None)))
    cost = build_cost_breakdown(state, SpendLog().refused_plans)
    prices = [row.price for by in SPEND_SIDES for row in build_spend_rows(state, cost, by)]
    assert set(prices) == {"unknown"}
    assert "$" not in "\n".join(render_spend_lines(state, cost)).replace("unknown", "")
    some = told(created("a"), *spent("a", None), *asks("work:a@1", "a", "worker", "0.2", turn=1))
    rows = build_spend_rows(some, build_cost_breakdown(some, SpendLog().refused_plans), "task")
    assert rows[0].price == "$0.20 + unknown"


def test_the_sums_name_budget_forecast_and_waste() -> None:
    events = [*begun(budget={"usd": 10.0}), *TWO_DONE, *REJECTED]
    state = fold_events(recorded(events))
    first, second, third = render_spend_lines(state, build_cost_breakdown(state, SpendLog().refused_plans))
    assert first.startswith("spent $5.00 of $10.00 (50%)   forecast $")
    assert "per merged task $2.50   wasted $0.50 (10% of the dollars)" in second
    assert third.endswith("4 model calls")


@given(st.lists(st.integers(0, 400), max_size=15))
def test_nothing_that_was_spent_is_missing_from_the_curve(cents: list[int]) -> None:
    log = SpendLog()
    events = [event for n, cent in enumerate(cents) for event in asks("work:a@1", "a", "worker", f"{cent / 100}", n)]
    log.record_events(recorded(events, every_s=100))
    bins = log.list_bins(DAY + timedelta(seconds=100 * len(events)))
    assert sum(float(one.cost_usd) for one in bins) == pytest.approx(sum(cents) / 100)
    assert sum(one.calls for one in bins) == len(cents)


def test_budgets_of_a_journal_that_are_none_are_told_with_the_key_that_is_wrong() -> None:
    state = fold_events(recorded(begun(budget={"calls": "many"})))
    with pytest.raises(UsageProblem, match=r"budget of run r1: .*calls.*valid integer"):
        get_budget_limits(state)
