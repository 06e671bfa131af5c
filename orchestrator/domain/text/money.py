"""Amounts of money in a few characters. An unknown price is `n/a`, never zero dollars."""

from decimal import Decimal

from orchestrator.domain.budget.usage import Usage

UNLIMITED = "unlimited"
"""The word for no limit in configuration files and on the command line, where 0 is refused."""
UNKNOWN_PRICE = "n/a"


def format_price(usage: Usage) -> str:
    """Return what calls cost: `$0.42`; `$0.42+` where some have no known price, `n/a` where none has."""
    if usage.unpriced_calls and usage.unpriced_calls >= usage.calls:
        return UNKNOWN_PRICE
    known = format_dollars(float(usage.cost_usd))
    return f"{known}+" if usage.unpriced_calls else known


def format_known_dollars(usd: float | None, usd_known: float) -> str:
    """Return dollars of which `usd_known` have a known price: `$0.42+` or `n/a` where `usd`, the whole, is None."""
    if usd is not None:
        return format_dollars(usd)
    if usd_known:
        return f"{format_dollars(usd_known)}+"
    return UNKNOWN_PRICE


def format_dollars(usd: float | None) -> str:
    """Return dollars as `$0.42` or `$1,204`; `n/a` for None."""
    if usd is None:
        return UNKNOWN_PRICE
    if usd < 1_000:
        return f"${usd:,.2f}"
    return f"${usd:,.0f}"


def format_exact_dollars(amount: Decimal | float) -> str:
    """Return dollars as `$0.42`, or as `$0.0042` where cents do not tell."""
    exact = Decimal(str(amount))
    cents = round(exact, 2)
    return f"${cents:.2f}" if cents == exact else f"${exact:.4f}"
