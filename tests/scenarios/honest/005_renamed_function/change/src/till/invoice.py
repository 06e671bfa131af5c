"""Invoices."""

from till.tax import with_tax


def lines(items):
    """Each item with its price."""
    return [f"{name}: {with_tax(price)}" for name, price in items]
