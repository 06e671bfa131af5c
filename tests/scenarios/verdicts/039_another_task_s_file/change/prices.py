"""Sums of prices."""


def total(prices):
    return sum(prices)


def largest(prices):
    return max(prices)
