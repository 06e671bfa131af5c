"""The cost of a call: by the user's own price, by the provider's word, or by litellm's price list; else unknown."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from orchestrator.domain.budget.price import MILLION, Price
from orchestrator.llm.litellm_adapter.credentials import SIGN_IN_PROVIDERS
from orchestrator.llm.litellm_adapter.installed_models import ModelEntries, find_listed_provider, load_model_entries

STATED_COST_HEADER = "llm_provider-x-litellm-response-cost"


def find_stated_cost(response: object) -> Decimal | None:
    """Return the cost that a gateway reports with its reply, in dollars; None when it reports none."""
    hidden = getattr(response, "_hidden_params", None) or {}
    in_header = (hidden.get("additional_headers") or {}).get(STATED_COST_HEADER)
    return _positive(getattr(getattr(response, "usage", None), "cost", None)) or _positive(in_header)


def find_listed_cost(litellm: Any, model: str, response: Any) -> Decimal | None:  # noqa: ANN401  a module, and theirs
    """Return the cost by litellm's price list, in dollars; None unless the list has exactly this model with a price.

    litellm by itself answers 0 for models without a price, prices a model by the name that its reply claims, and
    takes the price of a namesake at another provider.
    """
    provider = str((getattr(response, "_hidden_params", None) or {}).get("custom_llm_provider") or "")
    prefix, _, rest = model.partition("/")
    name = rest if rest and provider.startswith(prefix) else model
    if _find_entry(litellm.model_cost, provider, name) is None:
        return None
    try:
        halves = litellm.cost_calculator.cost_per_token(
            model=name, custom_llm_provider=provider, usage_object=response.usage, call_type="completion"
        )
    except Exception:  # noqa: BLE001  a fault in the price list must not lose the reply; the price is then unknown
        return None
    return _positive(sum(halves))


def find_listed_price(litellm: Any, model: str) -> Price | None:  # noqa: ANN401  a module
    """Return the price by litellm's list before any call; None unless the list has exactly this model with one.

    Where a provider charges more for long requests, it is the price of short ones.
    """
    if model.split("/", 1)[0] in SIGN_IN_PROVIDERS:
        return None
    try:
        name, provider, *_ = litellm.get_llm_provider(model=model)
    except Exception:  # noqa: BLE001  a name that nobody knows has no price; the call itself will say what is wrong
        return None
    return _read_price(_find_entry(litellm.model_cost, provider, name))


def find_installed_price(model: str) -> Price | None:
    """Return the price as `find_listed_price` does, without importing litellm. Blocks.

    None also for the few names that only litellm can take apart.
    """
    return _read_price(find_installed_entry(model))


def find_installed_entry(model: str) -> Mapping[str, object] | None:
    """Return what litellm's list says of exactly this model, without importing litellm. Blocks."""
    prefix, slash, name = model.partition("/")
    if prefix in SIGN_IN_PROVIDERS:
        return None
    provider = prefix if slash else find_listed_provider(model)
    return _find_entry(load_model_entries(), provider, name if slash else model)


def _read_price(entry: Mapping[str, object] | None) -> Price | None:
    if entry is None:
        return None
    read, wrote = (_positive(entry.get(f"{side}_cost_per_token")) for side in ("input", "output"))
    cached = _positive(entry.get("cache_read_input_token_cost"))
    if read is None and wrote is None:
        return None
    return Price(
        input_usd=(read or Decimal(0)) * MILLION,
        output_usd=(wrote or Decimal(0)) * MILLION,
        cached_usd=None if cached is None else cached * MILLION,
    )


def _find_entry(prices: ModelEntries, provider: str, name: str) -> Mapping[str, object] | None:
    entry = prices.get(f"{provider}/{name}") or prices.get(name) or {}
    return entry if provider and str(entry.get("litellm_provider", "")).startswith(provider) else None


def _positive(value: object) -> Decimal | None:
    """Return dollars as a Decimal of at most 12 places; None for zero, negative and senseless values."""
    if not isinstance(value, int | float | str | Decimal) or isinstance(value, bool):
        return None
    try:
        usd = round(Decimal(str(value)), 12)
    except ArithmeticError:
        return None
    if usd.is_finite() and usd > 0:
        return usd
    return None
