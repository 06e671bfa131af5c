"""Build the cost report of a run, and render it in lines for a person."""

from collections.abc import Iterator

from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.ids import TaskId
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.sanitization import strip_controls
from orchestrator.report.cost import model
from orchestrator.report.cost.breakdown import NO_USAGE, CostBreakdown, CostEntry
from orchestrator.report.cost.budgets import build_accounts, build_budgets, build_usage_amount
from orchestrator.report.log.event_descriptions import shorten_model_name

_NAME = 40


def build_cost_report(state: RunState, cost: CostBreakdown) -> model.CostReport:
    """Return the cost as `cost --json` prints it."""
    return model.CostReport(
        run=state.run.run,
        share_of=cost.measure,
        total=build_usage_amount(state.spend.total),
        at_risk=model.RiskAmount(
            possibly_billed_calls=state.spend.possibly_billed_calls, **dict(build_usage_amount(state.spend.at_risk))
        ),
        reserved=build_usage_amount(build_accounts(state).get_run_account().reserved),
        budget=build_budgets(state),
        tasks=tuple(_build_task_line(state, cost, entry) for entry in cost.tasks),
        roles=tuple(_build_line(cost, entry) for entry in cost.roles),
        models=tuple(_build_line(cost, entry) for entry in cost.models),
        attempts=tuple(
            model.AttemptCostLine(fate=entry.detail, **dict(_build_line(cost, entry))) for entry in cost.attempts
        ),
        wasted=_build_shared_amount(cost, cost.wasted),
        waste=tuple(model.WasteCostLine(count=entry.count, **dict(_build_line(cost, entry))) for entry in cost.waste),
    )


def _build_shared_amount(cost: CostBreakdown, usage: Usage) -> model.SharedAmount:
    return model.SharedAmount(share=round(cost.get_share(usage), 4), **dict(build_usage_amount(usage)))


def _build_line(cost: CostBreakdown, entry: CostEntry) -> model.CostLine:
    shared = _build_shared_amount(cost, entry.spent)
    return model.CostLine(name=entry.name, at_risk=build_usage_amount(entry.at_risk), **dict(shared))


def _build_task_line(state: RunState, cost: CostBreakdown, entry: CostEntry) -> model.TaskCostLine:
    task = TaskId(entry.name)
    spec = state.tasks[task].spec
    return model.TaskCostLine(
        own=build_usage_amount(state.spend.by_task.get(task, NO_USAGE)),
        status=entry.detail,
        parent=spec.parent,
        depth=spec.depth,
        **dict(_build_line(cost, entry)),
    )


def render_cost_lines(state: RunState, cost: CostBreakdown) -> Iterator[str]:
    """Yield the cost as tables."""
    spent = state.spend.total
    yield f"run {state.run.run}: cost {spent.cost_text}, {spent.tokens:,} tokens in {spent.calls:,} model calls"
    yield from _render_budget(state)
    if state.spend.at_risk.calls:
        amount = _format_amount(state.spend.at_risk)
        yield f"  at risk: up to {amount} for calls whose end nobody knows; budgets count it as spent"
    if not spent.calls:
        return
    yield f"\n{'':{_NAME}} {'cost':>22} {'tokens':>12} {'calls':>7} {'share':>6}   (share of {_WORDS[cost.measure]})"
    yield "by task, with all below it"
    for entry in cost.tasks:
        yield _render_entry(cost, entry, "  " * state.tasks[TaskId(entry.name)].spec.depth + entry.name)
    yield "by role"
    for entry in cost.roles:
        yield _render_entry(cost, entry, entry.name)
    yield "by model"
    for entry in cost.models:
        yield _render_entry(cost, entry, shorten_model_name(entry.name))
    yield "by attempt, with its reviews"
    for entry in cost.attempts:
        yield _render_entry(cost, entry, entry.name)
    yield "wasted"
    for entry in cost.waste:
        yield _render_entry(cost, entry, f"{entry.name} ({entry.count})")
    yield _render_entry(cost, CostEntry("", cost.wasted), "all that was wasted")


_WORDS = {"usd": "the dollars", "tokens": "the tokens", "calls": "the calls"}


def _render_budget(state: RunState) -> Iterator[str]:
    account = build_accounts(state).get_run_account()
    limit = account.limit
    amounts = ((limit.usd, "${:.2f}"), (limit.tokens, "{:,} tokens"), (limit.calls, "{:,} calls"))
    parts = []
    for amount, words in (*amounts, (limit.wall_s, "{:,.0f} s")):
        if amount:
            parts.append(words.format(amount))
    if parts:
        yield f"  budget: {', '.join(parts)}"
    if account.reserved.calls:
        yield f"  reserved: {_format_amount(account.reserved)} by calls under way"


def _format_amount(usage: Usage) -> str:
    return f"{usage.cost_text} ({usage.calls:,} calls, {usage.tokens:,} tokens)"


def _render_entry(cost: CostBreakdown, entry: CostEntry, name: str) -> str:
    used = entry.spent
    numbers = f"{used.cost_text:>22} {used.tokens:>12,} {used.calls:>7,} {cost.get_share(used):>6.1%}"
    return f"{f'  {strip_controls(name)}':{_NAME}} {numbers}   {entry.detail}".rstrip()
