"""Budgets as pure rules: what a limit is, and whether one more call may begin under it.

A call reserves what it may cost before it begins, and is booked at what it did cost afterwards. It may begin only where
what is booked, what calls under way have reserved, and its own reservation fit together under every limit that
covers it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal
from enum import Enum
from typing import Annotated

from pydantic import BeforeValidator, Field

from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.chat import Role
from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.text.money import MAX_DOLLARS, UNLIMITED, format_exact_dollars


def _parse_unlimited(value: object) -> object:
    return 0 if value == UNLIMITED else value


Amount = Annotated[float, BeforeValidator(_parse_unlimited), Field(ge=0, le=MAX_DOLLARS)]
Count = Annotated[int, BeforeValidator(_parse_unlimited), Field(ge=0)]


class Limit(FrozenModel):
    """An upper bound of spending; 0, read also from the word `unlimited`, means no limit. `wall_s` is in seconds."""

    usd: Amount = 0.0
    tokens: Count = 0
    calls: Count = 0
    wall_s: Amount = 0.0

    @property
    def is_set(self) -> bool:
        """True if it limits anything."""
        return bool(self.usd or self.tokens or self.calls or self.wall_s)

    @property
    def bounds_unpriced(self) -> bool:
        """True if it ends calls whose price nobody knows."""
        return bool(self.tokens or self.calls or not self.usd)

    def tighten_to(self, usd: float | None, tokens: int | None) -> "Limit":
        """Return the tighter of this limit and what a planner gave; None gives nothing."""
        changes = {"usd": _pick_tighter(self.usd, usd), "tokens": _pick_tighter(self.tokens, tokens)}
        return self.model_copy(update=changes)

    def reduce_by_share(self, share: float) -> "Limit":
        """Return the limit for others when a share is held back; nothing is held back of small counts."""
        changes: dict[str, float] = {"usd": self.usd * (1 - share), "wall_s": self.wall_s * (1 - share)}
        for name, count in (("tokens", self.tokens), ("calls", self.calls)):
            changes[name] = count - int(count * share)
        return self.model_copy(update=changes)


class RunLimits(Limit):
    """The limits of a run as a whole, and of its roles, models and tasks.

    `reserve` is the share of the run's and of each model's budget that only the judge may use, so that what is finished
    can still be judged. `leaf` and `branch` hold for every task of that kind, with all that its descendants spend;
    the root planner's task is the run itself. For roles and models `wall_s` is how long their calls took, summed.
    """

    reserve: Annotated[float, Field(ge=0, le=0.9)] = 0.1
    leaf: Limit = Field(default_factory=Limit)
    branch: Limit = Field(default_factory=Limit)
    roles: dict[Role, Limit] = Field(default_factory=dict)
    models: dict[str, Limit] = Field(default_factory=dict)


@dataclass(frozen=True)
class Account:
    """One limit and how far it is used: `spent` for replies, `at_risk` for calls that were perhaps billed,
    `reserved` by calls under way.
    """

    name: str
    limit: Limit
    spent: Usage
    at_risk: Usage
    reserved: Usage
    wall_s: float
    is_task: bool = False
    is_from_planner: bool = False
    """True if a planner gave the limit in USD: it cannot know which models have a price."""
    config_path: tuple[str, ...] = ()
    """The place under [budget] of the limit of the run, a role or a model."""

    @property
    def booked(self) -> Usage:
        """The spent amount together with what perhaps was spent."""
        return self.spent + self.at_risk


class BudgetFit(Enum):
    """The relation of a call to a limit.

    YES: it fits. LATER: it would fit if calls under way cost less than reserved. NO: it does not fit.
    """

    YES = "yes"
    LATER = "later"
    NO = "no"


@dataclass(frozen=True)
class BudgetRefusal:
    """The reason why a call may not begin now, in words; `fit` tells whether settling open calls may change that."""

    account: Account
    fit: BudgetFit
    reason: str
    is_unpriced: bool = False


def find_budget_refusal(accounts: Iterable[Account], wanted: Usage) -> BudgetRefusal | None:
    """Return the refusal of a call that may cost `wanted`; None if it fits under every limit that covers it.

    A limit that can never be kept again goes before one that only has to wait.
    """
    refusals = []
    for account in accounts:
        if (refusal := _check_account(account, wanted)) is not None:
            refusals.append(refusal)
    return min(refusals, key=lambda refusal: refusal.fit is BudgetFit.LATER, default=None)


def _check_account(account: Account, wanted: Usage) -> BudgetRefusal | None:
    limit, booked = account.limit, account.booked
    if limit.wall_s and account.wall_s >= limit.wall_s:
        reason = f"the time budget of {limit.wall_s:,.0f} s for {account.name} is spent ({account.wall_s:,.0f} s)"
        return BudgetRefusal(account, BudgetFit.NO, reason)
    sizes = [
        _BudgetDimension("USD", Decimal(str(limit.usd)), booked.cost_usd, account.reserved.cost_usd, wanted.cost_usd),
        _BudgetDimension("token", Decimal(limit.tokens), booked.tokens, account.reserved.tokens, wanted.tokens),
        _BudgetDimension("call", Decimal(limit.calls), booked.calls, account.reserved.calls, wanted.calls),
    ]
    for fit in (BudgetFit.NO, BudgetFit.LATER):
        if full := next((size for size in sizes if size.fit is fit), None):
            return BudgetRefusal(account, fit, full.describe_refusal(account.name))
    if account.spent.unpriced_calls and not limit.bounds_unpriced and not account.is_from_planner:
        why = "cannot be kept, since nobody knows the price of a model in use"
        reason = f"the USD budget of ${limit.usd:.2f} for {account.name} {why}"
        return BudgetRefusal(account, BudgetFit.NO, reason, is_unpriced=True)
    return None


@dataclass(frozen=True)
class _BudgetDimension:
    """One dimension of one limit."""

    unit: str
    limit: Decimal
    booked: Decimal | int
    reserved: Decimal | int
    wanted: Decimal | int

    @property
    def fit(self) -> BudgetFit:
        if not self.limit:
            return BudgetFit.YES
        if self.booked >= self.limit or self.booked + self.wanted > self.limit:
            return BudgetFit.NO
        has_room = self.booked + self.reserved + self.wanted <= self.limit
        return BudgetFit.YES if has_room else BudgetFit.LATER

    def describe_refusal(self, name: str) -> str:
        amount = f"the {self.unit} budget of {self._format_amount(self.limit)} for {name}"
        if self.booked >= self.limit:
            return f"{amount} is spent ({self._format_amount(self.booked)})"
        parts = f"{self._format_amount(self.booked)} spent, up to {self._format_amount(self.wanted)} wanted"
        return f"{amount} does not cover another call ({parts})"

    def _format_amount(self, amount: Decimal | int) -> str:
        return format_exact_dollars(amount) if self.unit == "USD" else f"{int(amount):,}"


def _pick_tighter(own: float, grant: float | None) -> float:
    return min(filter(None, (own, grant)), default=0)


def compute_remaining(limit: Limit, booked: Usage) -> tuple[Decimal | None, int | None]:
    """Return the dollars and tokens that a limit leaves, never below 0; None where it sets none."""
    usd = max(Decimal(str(limit.usd)) - booked.cost_usd, Decimal(0)).quantize(Decimal("0.0001"), ROUND_FLOOR)
    return (usd if limit.usd else None), (max(limit.tokens - booked.tokens, 0) if limit.tokens else None)
