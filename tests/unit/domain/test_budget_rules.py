"""The rules of budgets, whatever the order in which calls reserve, settle and fail."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.budget.limits import (
    Account,
    BudgetFit,
    Limit,
    RunLimits,
    compute_remaining,
    find_budget_refusal,
)
from orchestrator.domain.budget.usage import Usage

LIMIT = 100
RESERVE = 0.25
FOR_OTHERS = 75


@dataclass(frozen=True)
class Call:
    """What a call reserves, what it turns out to cost, and how it ends."""

    estimate: int
    actual: int
    ends: Literal["replied", "failed", "lost"]
    is_judge: bool

    @property
    def beyond(self) -> int:
        """By how much its reservation was too small."""
        return max(self.actual - self.estimate, 0) if self.ends == "replied" else 0


def usage(amount: int) -> Usage:
    """The same amount in dollars and tokens; one call."""
    return Usage(calls=1, input_tokens=amount, cost_usd=Decimal(amount))


@dataclass
class Purse:
    """One limit, in dollars and tokens, and the calls on it."""

    spent: Usage = field(default_factory=Usage)
    at_risk: Usage = field(default_factory=Usage)
    open: list[Call] = field(default_factory=list)
    last_open: tuple[Call, ...] = ()
    """The calls that were under way when the latest began, itself included."""

    def account(self, is_judge: bool) -> Account:
        limit = RunLimits(usd=LIMIT, tokens=LIMIT).reduce_by_share(0 if is_judge else RESERVE)
        return Account("the run", limit, self.spent, self.at_risk, total(self.open), 0)

    def begin(self, call: Call) -> BudgetFit:
        refusal = find_budget_refusal([self.account(call.is_judge)], usage(call.estimate))
        if refusal is not None:
            return refusal.fit
        self.open.append(call)
        self.last_open = tuple(self.open)
        return BudgetFit.YES

    def end(self, place: int) -> None:
        call = self.open.pop(place)
        if call.ends == "replied":
            self.spent += usage(call.actual)
        elif call.ends == "lost":
            self.at_risk += usage(call.estimate)

    @property
    def booked(self) -> int:
        return (self.spent + self.at_risk).tokens


def total(calls: Iterable[Call]) -> Usage:
    return sum((usage(call.estimate) for call in calls), Usage())


CALLS = st.builds(
    Call,
    estimate=st.integers(0, 60),
    actual=st.integers(0, 90),
    ends=st.sampled_from(["replied", "replied", "replied", "failed", "lost"]),
    is_judge=st.booleans(),
)
STEPS = st.lists(st.one_of(CALLS, st.integers(0, 10)), max_size=40)
"""A call that would begin, or the place of one that ends."""


@given(STEPS)
def test_spending_passes_a_limit_by_no_more_than_calls_in_flight_cost_beyond_their_reservations(
    steps: list[Call | int],
) -> None:
    purse = Purse()
    for step in steps:
        if isinstance(step, Call):
            purse.begin(step)
        elif purse.open:
            purse.end(step % len(purse.open))
        assert purse.booked <= LIMIT + sum(call.beyond for call in purse.last_open)
        assert min(purse.spent.cost_usd, purse.at_risk.cost_usd, purse.spent.tokens, purse.at_risk.tokens) >= 0
        usd, tokens = compute_remaining(Limit(usd=LIMIT, tokens=LIMIT), purse.spent + purse.at_risk)
        assert usd is not None
        assert tokens is not None
        assert min(usd, tokens) >= 0


@given(STEPS)
def test_others_leave_the_judge_what_is_held_back(steps: list[Call | int]) -> None:
    purse = Purse()
    for step in steps:
        if isinstance(step, Call):
            if purse.begin(step) is BudgetFit.YES and not step.is_judge:
                assert purse.booked + total(purse.open).tokens <= FOR_OTHERS
        elif purse.open:
            purse.end(step % len(purse.open))
    judged = Call(estimate=LIMIT - FOR_OTHERS, actual=0, ends="replied", is_judge=True)
    if purse.booked <= FOR_OTHERS:
        assert purse.begin(judged) is not BudgetFit.NO


@given(st.lists(CALLS, min_size=1, max_size=6), CALLS)
def test_a_call_that_has_to_wait_fits_when_those_under_way_cost_nothing(first: list[Call], call: Call) -> None:
    purse = Purse()
    for one in first:
        purse.begin(one)
    if purse.begin(call) is BudgetFit.LATER:
        purse.open.clear()
        assert purse.begin(call) is BudgetFit.YES


def test_a_limit_that_is_spent_goes_before_one_that_only_has_to_wait() -> None:
    waits = Account("role worker", Limit(calls=2), Usage(calls=1), Usage(), Usage(calls=1), 0)
    spent = Account("the run", Limit(calls=2), Usage(calls=2), Usage(), Usage(), 0)
    refusal = find_budget_refusal([waits, spent], Usage(calls=1))
    assert refusal is not None
    assert (refusal.account.name, refusal.fit) == ("the run", BudgetFit.NO)


def test_of_small_counts_nothing_is_held_back() -> None:
    assert RunLimits(calls=9, tokens=1_000, usd=1).reduce_by_share(0.1).model_dump(
        include={"calls", "tokens", "usd"}
    ) == {
        "calls": 9,
        "tokens": 900,
        "usd": 0.9,
    }
