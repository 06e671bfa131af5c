"""Amounts of money in words, the same everywhere. An unknown price is `unknown`, never zero dollars."""

from decimal import Decimal

UNLIMITED = "unlimited"
"""The word for no limit in configuration files and on the command line, where 0 is refused."""
UNKNOWN_COST = "unknown"
MAX_DOLLARS = 10**12
"""The largest amount that can be a budget, a price or a cost; sums of such amounts can still be told to the cent."""


def format_cost(usd_known: Decimal | float, *, is_whole: bool) -> str:
    """Return the cost of calls: `$1.20`, or `$1.20 + unknown` unless it `is_whole`, or `unknown` below a known cent."""
    if is_whole:
        return format_dollars(float(usd_known))
    if round(usd_known, 2):
        return f"{format_dollars(float(usd_known))} + {UNKNOWN_COST}"
    return UNKNOWN_COST


def format_dollars(usd: float | None) -> str:
    """Return dollars as `$0.42` or `$1,204`; `unknown` for None."""
    if usd is None:
        return UNKNOWN_COST
    if usd < 1_000:
        return f"${usd:,.2f}"
    return f"${usd:,.0f}"


def format_exact_dollars(amount: Decimal | float) -> str:
    """Return dollars as `$0.42`, or as `$0.0042` where cents do not tell."""
    exact = Decimal(str(amount))
    cents = round(exact, 2)
    return f"${cents:.2f}" if cents == exact else f"${exact:.4f}"
