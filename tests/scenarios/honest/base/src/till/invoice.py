"""Invoices."""

from till.tax import calc


def lines(items):
    """Each item with its price."""
    return [f"{name}: {calc(price)}" for name, price in items]
