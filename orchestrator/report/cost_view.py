"""The cost of a run as data, and in lines for a person."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from orchestrator.domain.ids import TaskId
from orchestrator.domain.plain import strip_controls
from orchestrator.domain.state import RunState
from orchestrator.domain.usage import Usage
from orchestrator.report.budget import accounts_of, amount, budget_object
from orchestrator.report.cost import NOTHING, Cost, Entry
from orchestrator.report.lines import short_model

SCHEMA = "orchestrate.cost/1"
_NAME = 40


def cost_object(state: RunState, cost: Cost) -> dict[str, Any]:
    """The cost as data. Every amount has `usd` (None if part of it is unknown), `usd_known`, `unpriced_calls`,
    `tokens` and `calls`; `share` is its part of the whole, measured in `share_of`.
    """

    def line(entry: Entry) -> dict[str, Any]:
        spent = amount(entry.spent) | {"share": round(cost.share(entry.spent), 4)}
        return {"name": entry.name, **spent, "at_risk": amount(entry.at_risk)}

    return {
        "schema": SCHEMA,
        "run": state.run.run,
        "share_of": cost.measure,
        "total": amount(state.spent),
        "at_risk": amount(state.at_risk) | {"possibly_billed_calls": state.possibly_billed},
        "reserved": amount(accounts_of(state).run().reserved),
        "budget": budget_object(state),
        "tasks": [
            line(entry)
            | {"own": amount(state.spent_by_task.get(TaskId(entry.name), NOTHING)), "status": entry.detail}
            | state.tasks[TaskId(entry.name)].spec.model_dump(include={"parent", "depth"})
            for entry in cost.tasks
        ],
        "roles": [line(entry) for entry in cost.roles],
        "models": [line(entry) for entry in cost.models],
        "attempts": [line(entry) | {"fate": entry.detail} for entry in cost.attempts],
        "wasted": amount(cost.wasted) | {"share": round(cost.share(cost.wasted), 4)},
        "waste": [line(entry) | {"count": entry.count} for entry in cost.waste],
    }


def cost_lines(state: RunState, cost: Cost) -> Iterator[str]:
    """The same for a person."""
    spent = state.spent
    yield f"run {state.run.run}: {spent.price}, {spent.tokens:,} tokens in {spent.calls:,} model calls"
    yield from _budget(state)
    if state.at_risk.calls:
        yield f"  at risk: up to {_amount(state.at_risk)} for calls whose end nobody knows; budgets count it as spent"
    if not spent.calls:
        return
    yield f"\n{'':{_NAME}} {'cost':>22} {'tokens':>12} {'calls':>7} {'share':>6}   (share of {_WORDS[cost.measure]})"
    yield from _table("by task, with all below it", cost, (_indented(state, entry) for entry in cost.tasks))
    yield from _table("by role", cost, cost.roles)
    yield from _table("by model", cost, (_renamed(entry, short_model(entry.name)) for entry in cost.models))
    yield from _table("by attempt, with its reviews", cost, cost.attempts)
    wasted = _renamed(Entry("", cost.wasted), "all that was wasted")
    yield from _table("wasted", cost, (*(_renamed(e, f"{e.name} ({e.count})") for e in cost.waste), wasted))


_WORDS = {"usd": "the dollars", "tokens": "the tokens", "calls": "the calls"}


def _budget(state: RunState) -> Iterator[str]:
    account = accounts_of(state).run()
    limit = account.limit
    parts = [
        f"${limit.usd:.2f}" if limit.usd else "",
        f"{limit.tokens:,} tokens" if limit.tokens else "",
        f"{limit.calls:,} calls" if limit.calls else "",
        f"{limit.wall_s:,.0f} s" if limit.wall_s else "",
    ]
    if limit.is_set:
        yield f"  budget: {', '.join(filter(None, parts))}"
    if account.reserved.calls:
        yield f"  reserved: {_amount(account.reserved)} by calls under way"


def _amount(usage: Usage) -> str:
    return f"{usage.price} ({usage.calls:,} calls, {usage.tokens:,} tokens)"


def _table(title: str, cost: Cost, entries: Iterable[Entry]) -> Iterator[str]:
    yield title
    for entry in entries:
        used = entry.spent
        numbers = f"{used.price:>22} {used.tokens:>12,} {used.calls:>7,} {cost.share(used):>6.1%}"
        yield f"{f'  {strip_controls(entry.name)}':{_NAME}} {numbers}   {entry.detail}".rstrip()


def _indented(state: RunState, entry: Entry) -> Entry:
    return _renamed(entry, "  " * state.tasks[TaskId(entry.name)].spec.depth + entry.name)


def _renamed(entry: Entry, name: str) -> Entry:
    return replace(entry, name=name)
