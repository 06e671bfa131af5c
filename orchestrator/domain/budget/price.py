"""The price of a model's tokens."""

from decimal import Decimal

from pydantic import Field

from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.text.money import MAX_DOLLARS

MILLION = Decimal(1_000_000)


class Price(FrozenModel):
    """Dollars per million tokens; cached input costs as much as other input unless said otherwise."""

    input_usd: Decimal = Field(ge=0, le=MAX_DOLLARS)
    output_usd: Decimal = Field(ge=0, le=MAX_DOLLARS)
    cached_usd: Decimal | None = Field(None, ge=0, le=MAX_DOLLARS)

    def compute_cost(self, usage: Usage) -> Decimal:
        """Return the cost of the tokens of `usage`, in dollars."""
        cached_usd = self.input_usd if self.cached_usd is None else self.cached_usd
        fresh = usage.input_tokens - usage.cached_tokens
        total = fresh * self.input_usd + usage.cached_tokens * cached_usd + usage.output_tokens * self.output_usd
        return total / MILLION


FREE_PRICE = Price(input_usd=Decimal(0), output_usd=Decimal(0))
"""The price of a model that nobody bills."""
