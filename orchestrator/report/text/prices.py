"""Amounts of money in a few characters. An unknown price is `n/a`, never zero dollars."""

from orchestrator.domain.budget.usage import Usage

UNKNOWN_PRICE = "n/a"


def format_price(usage: Usage) -> str:
    """`$0.42`; `$0.42+` where some calls have no known price, `n/a` where none has."""
    if usage.unpriced_calls and usage.unpriced_calls >= usage.calls:
        return UNKNOWN_PRICE
    return format_dollars(float(usage.cost_usd)) + "+" * bool(usage.unpriced_calls)


def format_dollars(usd: float | None) -> str:
    """`$0.42`, `$1,204`; `n/a` for None."""
    if usd is None:
        return UNKNOWN_PRICE
    return f"${usd:,.2f}" if usd < 1_000 else f"${usd:,.0f}"
