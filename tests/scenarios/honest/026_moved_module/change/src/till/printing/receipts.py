"""Receipts as text."""


def receipt(items):
    """One line for each item."""
    return "\n".join(f"{name:<10}{price:>6}" for name, price in items)
