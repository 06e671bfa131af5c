"""Limits of a run: reached means spent, and 0 means none."""

from decimal import Decimal

import pytest

from orchestrator.config.model import BudgetSettings
from orchestrator.domain.usage import Usage
from orchestrator.errors import LimitReached
from orchestrator.llm.budget import Budget

SPENT = Usage(calls=3, input_tokens=900, output_tokens=100, cost_usd=Decimal("1.50"))


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"usd": 1.5}, r"the USD budget of \$1.50 is spent \(\$1.50\): resume with a larger one"),
        ({"tokens": 1_000}, r"the token budget of 1,000 is spent \(1,000\)"),
        ({"calls": 3}, r"the call budget of 3 is spent \(3\)"),
    ],
)
def test_a_limit_that_is_reached_allows_no_further_call(limits: dict[str, float], said: str) -> None:
    with pytest.raises(LimitReached, match=said):
        Budget(BudgetSettings.model_validate({"usd": 0, "tokens": 0, "calls": 0} | limits)).check(SPENT)


def test_dollars_alone_do_not_limit_calls_whose_price_nobody_knows() -> None:
    unpriced = SPENT + Usage(calls=1, unpriced_calls=1)
    limits = BudgetSettings(usd=5, tokens=0, calls=0)
    with pytest.raises(LimitReached, match=r"the USD budget of \$5.00 cannot be kept.*--set budget.tokens=N"):
        Budget(limits).check(unpriced)
    Budget(limits.model_copy(update={"tokens": 9_999})).check(unpriced)
    Budget(BudgetSettings(usd=0, tokens=0, calls=0)).check(unpriced)


@pytest.mark.parametrize("limits", [{}, {"usd": 1.51}, {"tokens": 1_001}, {"calls": 4}])
def test_below_its_limits_a_run_goes_on(limits: dict[str, float]) -> None:
    Budget(BudgetSettings.model_validate({"usd": 0, "tokens": 0, "calls": 0} | limits)).check(SPENT)
