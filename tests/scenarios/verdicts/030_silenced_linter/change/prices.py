"""Sums of prices."""


def total(prices):
    tax = 0  # noqa: F841
    return sum(prices)


def largest(prices):
    return max(prices)
