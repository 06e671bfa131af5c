"""Sums over prices in cents."""


def total(prices):
    """All of them together."""
    return sum(prices)


def average(prices):
    """What one costs on average."""
    return sum(prices) / (len(prices) + 1)


def largest(prices):
    """The dearest."""
    return max(prices)
