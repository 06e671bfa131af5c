"""What a call cost: by the user's own price, by the provider's word, or by litellm's price list; else unknown."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from pydantic import Field

from orchestrator.domain.base import Frozen
from orchestrator.domain.usage import Usage

MILLION = Decimal(1_000_000)
STATED_COST = "llm_provider-x-litellm-response-cost"


class Price(Frozen):
    """Dollars per million tokens; cached input costs as much as other input unless said otherwise."""

    input_usd: Decimal = Field(ge=0)
    output_usd: Decimal = Field(ge=0)
    cached_usd: Decimal | None = Field(None, ge=0)

    def of(self, usage: Usage) -> Decimal:
        """What the tokens of `usage` cost, in dollars."""
        cached_usd = self.input_usd if self.cached_usd is None else self.cached_usd
        fresh = usage.input_tokens - usage.cached_tokens
        total = fresh * self.input_usd + usage.cached_tokens * cached_usd + usage.output_tokens * self.output_usd
        return total / MILLION


def stated_cost(response: object) -> Decimal | None:
    """The cost that a gateway reports with its reply, in dollars; None when it reports none."""
    hidden = getattr(response, "_hidden_params", None) or {}
    in_header = (hidden.get("additional_headers") or {}).get(STATED_COST)
    return _positive(getattr(getattr(response, "usage", None), "cost", None)) or _positive(in_header)


def listed_cost(litellm: Any, model: str, response: Any) -> Decimal | None:  # noqa: ANN401  a module, and theirs
    """The cost by litellm's price list, in dollars; None unless the list has exactly this model with a price.

    litellm by itself answers 0 for models without a price, prices a model by the name that its reply claims, and
    takes the price of a namesake at another provider.
    """
    provider = str((getattr(response, "_hidden_params", None) or {}).get("custom_llm_provider") or "")
    prefix, _, rest = model.partition("/")
    name = rest if rest and provider.startswith(prefix) else model
    prices: Mapping[str, Mapping[str, object]] = litellm.model_cost
    entry = prices.get(f"{provider}/{name}") or prices.get(name)
    if not provider or entry is None or not str(entry.get("litellm_provider", "")).startswith(provider):
        return None
    try:
        halves = litellm.cost_calculator.cost_per_token(
            model=name, custom_llm_provider=provider, usage_object=response.usage, call_type="completion"
        )
    except Exception:  # noqa: BLE001  a fault in the price list must not lose the reply; the price is then unknown
        return None
    return _positive(sum(halves))


def _positive(value: object) -> Decimal | None:
    """Dollars as a Decimal of at most 12 places; zero, negative and senseless values are no price."""
    if not isinstance(value, int | float | str | Decimal) or isinstance(value, bool):
        return None
    try:
        usd = round(Decimal(str(value)), 12)
    except ArithmeticError:
        return None
    return usd if usd.is_finite() and usd > 0 else None
