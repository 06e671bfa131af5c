"""Tokens and costs of calls. An unknown price stays unknown: it is counted, never shown as zero."""

from collections.abc import Iterable
from decimal import Decimal
from operator import add

from orchestrator.domain.frozen_model import FrozenModel, construct_model
from orchestrator.domain.text.money import format_cost


class Usage(FrozenModel):
    """Tokens, calls and money; `unpriced_calls` counts the calls whose price nobody knows."""

    calls: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost_usd: Decimal = Decimal(0)
    unpriced_calls: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        left, right = self.__dict__, other.__dict__  # a reply is added up in seven places: that has to be fast
        return construct_model(Usage, dict(zip(left, map(add, left.values(), right.values()), strict=True)))

    @classmethod
    def sum_of(cls, usages: Iterable["Usage"]) -> "Usage":
        """Return the sum of any number of usages; zero for none."""
        columns = zip(*(usage.__dict__.values() for usage in usages), strict=True)
        return construct_model(cls, cls().__dict__ | dict(zip(cls.model_fields, map(sum, columns), strict=False)))

    @property
    def tokens(self) -> int:
        """Input and output tokens together."""
        return self.input_tokens + self.output_tokens

    @property
    def usd_known(self) -> float:
        """The dollars of the calls whose price is known."""
        return float(self.cost_usd)

    @property
    def usd(self) -> float | None:
        """The dollars of all calls; None if the price of any is unknown."""
        return None if self.unpriced_calls else self.usd_known

    @property
    def cost_text(self) -> str:
        """The cost in words, as `format_cost` writes it."""
        return format_cost(self.cost_usd, is_whole=not self.unpriced_calls)
