"""JSON models of the cost of a run and the use of its budgets."""

from typing import Literal

from orchestrator.domain.ids import RunId, TaskId
from orchestrator.domain.text.money import format_cost
from orchestrator.report.read_model import Document, Omittable, ReadModel

CostMeasure = Literal["usd", "tokens", "calls"]
"""What shares of a cost are measured in."""


class Dollars(ReadModel):
    """An amount of money: `usd` is None if part of it has no known price, `usd_known` is the part that has one."""

    usd: float | None
    usd_known: float

    @property
    def price(self) -> str:
        """The amount in words."""
        return format_cost(self.usd_known, is_whole=self.usd is not None)


class ShortAmount(Dollars):
    """The cost of calls."""

    tokens: int
    calls: int


class Amount(Dollars):
    """The same with the number of calls that have no known price."""

    unpriced_calls: int
    tokens: int
    calls: int


class LimitFields(ReadModel):
    """The limits of an account that are set; `wall_s` is in seconds."""

    usd: Omittable[float] = None
    tokens: Omittable[int] = None
    calls: Omittable[int] = None
    wall_s: Omittable[float] = None


class AccountUsage(ReadModel):
    """One budget and how far it is used; `limit` is empty when nothing is limited."""

    spent: ShortAmount
    at_risk: ShortAmount
    reserved: ShortAmount
    wall_s: float
    limit: LimitFields


class BudgetUsage(AccountUsage):
    """The budget of the run, the share of it that is held back for the judge, and the budgets of roles and models."""

    held_back: float
    roles: dict[str, AccountUsage]
    models: dict[str, AccountUsage]


class EarlierCosts(ReadModel):
    """The cost of earlier runs of the same kind that ended: the median and the largest of each amount.

    `runs` is how many were looked at. Dollars are of those runs whose cost is wholly known, None without any.
    """

    runs: int
    median_usd: float | None
    largest_usd: float | None
    median_tokens: int
    largest_tokens: int


class RiskAmount(Amount):
    """The possible cost of calls whose end nobody knows."""

    possibly_billed_calls: int


class NamedLine(ReadModel):
    """A line of a table of costs."""

    name: str


class SharedAmount(Amount):
    """An amount with its part of the whole, from 0 to 1."""

    share: float


class CostLine(SharedAmount, NamedLine):
    """The cost of one role, model, task, attempt or cause."""

    at_risk: Amount


class TaskCostLine(CostLine):
    """A task with all below it; `own` is what it took by itself."""

    own: Amount
    status: str
    parent: TaskId | None
    depth: int


class AttemptCostLine(CostLine):
    """An attempt with its reviews."""

    fate: str


class WasteCostLine(CostLine):
    """A cause of waste and how often it occurred."""

    count: int


class CostReport(Document, schema="orchestrate.cost/1"):
    """The output of `cost`: a run's cost from every side. Shares are measured in `share_of`."""

    run: RunId
    share_of: CostMeasure
    total: Amount
    at_risk: RiskAmount
    reserved: Amount
    budget: BudgetUsage
    tasks: tuple[TaskCostLine, ...]
    roles: tuple[CostLine, ...]
    models: tuple[CostLine, ...]
    attempts: tuple[AttemptCostLine, ...]
    wasted: SharedAmount
    waste: tuple[WasteCostLine, ...]
