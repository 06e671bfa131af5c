"""What a run cost as rows: by task, role, model, outcome and waste, each with its part of the whole."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from orchestrator.domain.ids import TaskId
from orchestrator.domain.state import RunState
from orchestrator.domain.usage import Usage
from orchestrator.report.agent_row import tokens_text
from orchestrator.report.budget import accounts_of
from orchestrator.report.cost import Cost, Entry
from orchestrator.report.eta import duration
from orchestrator.report.filtering import Value
from orchestrator.report.lines import short_model
from orchestrator.report.prices import UNKNOWN, dollars, price
from orchestrator.report.spending import burn, by_outcome, cached_share, forecast, per_merged

SPEND_KEYS = ("name", "status", "attempts", "cost", "tokens", "calls")
"""What the rows can be filtered by."""
By = Literal["task", "role", "model", "outcome", "waste"]
SIDES: tuple[By, ...] = ("task", "role", "model", "outcome", "waste")
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
        """What it cost."""
        return price(self.spent) if self.spent.calls else ""

    def fields(self) -> Mapping[str, Value]:
        """What it can be filtered by."""
        return {
            "name": self.name,
            "status": self.detail,
            "attempts": float(self.attempts),
            "cost": None if self.spent.unpriced_calls else float(self.spent.cost_usd),
            "tokens": float(self.spent.tokens),
            "calls": float(self.spent.calls),
        }


def spend_rows(state: RunState, cost: Cost, by: By) -> list[SpendRow]:
    """The rows of one side: tasks in the order of the tree, everything else with the largest first."""
    if by == "task":
        return [_task(state, cost, entry) for entry in cost.tasks]
    rows = [SpendRow(name, spent, cost.share(spent), detail) for name, spent, detail in _entries(state, cost, by)]
    return sorted(rows, key=lambda row: (-row.share, row.name))


def _task(state: RunState, cost: Cost, entry: Entry) -> SpendRow:
    depth = state.tasks[TaskId(entry.name)].spec.depth
    return SpendRow(entry.name, entry.spent, cost.share(entry.spent), entry.detail, entry.count, depth)


def _entries(state: RunState, cost: Cost, by: By) -> Iterator[tuple[str, Usage, str]]:
    if by == "outcome":
        yield from ((name, spent, "") for name, spent in by_outcome(state, cost).items())
        return
    entries = {"role": cost.roles, "model": cost.models, "waste": cost.waste}[by]
    for entry in entries:
        name = short_model(entry.name) if by == "model" else entry.name
        yield name, entry.spent, f"{entry.count} times" if by == "waste" else ""


def spend_lines(state: RunState, cost: Cost) -> Iterator[str]:
    """Some lines that sum up, the most important first."""
    spent, account = state.spent, accounts_of(state).run()
    limit = f" of {dollars(account.limit.usd)}" if account.limit.usd else ""
    used = float(spent.cost_usd) / account.limit.usd if account.limit.usd and not spent.unpriced_calls else None
    yield "   ".join(
        part
        for part in (
            f"spent {price(spent)}{limit}{f' ({used:.0%})' if used is not None else ''}",
            _forecast(state),
            f"reserved {price(account.reserved)}" if account.reserved.calls else "",
            f"at risk {price(state.at_risk)}" if state.at_risk.calls else "",
            f"{spent.unpriced_calls:,} calls of unknown price" if spent.unpriced_calls else "",
        )
        if part
    )
    hourly, each = burn(state), per_merged(state)
    wasted = cost.wasted
    yield "   ".join(
        (
            f"per merged {'file' if state.run.mode == 'migration' else 'task'} {dollars(each)}",
            f"wasted {price(wasted)} ({cost.share(wasted):.0%} of the {_MEASURES[cost.measure]})"
            if wasted.calls
            else "nothing wasted",
            f"burn {dollars(hourly)}{'/h' if hourly is not None else ''} over {duration(state.wall_s)} of work",
        )
    )
    cached = f" (cache {cached_share(spent):.0%})" if spent.cached_tokens else ""
    out = f"out {tokens_text(spent.output_tokens)}"
    yield f"tokens in {tokens_text(spent.input_tokens)}{cached} {out}   {spent.calls:,} model calls"


_MEASURES = {"usd": "dollars", "tokens": "tokens", "calls": "calls"}


def _forecast(state: RunState) -> str:
    if state.ended is not None or not state.spent.calls:
        return ""
    found = forecast(state)
    if found is None:
        return f"forecast {UNKNOWN}"
    return f"forecast {dollars(found.usd)} ({dollars(found.low)} to {dollars(found.high)})"


def brief(rows: list[SpendRow], most: int = 4) -> str:
    """`worker $14.05  judge $3.17  planner $1.20`: the first rows in one line."""
    return "  ".join(f"{row.name} {row.price or '-'}" for row in rows[:most])
