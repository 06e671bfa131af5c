"""Rounding."""


def nickel(cents):
    """To the nearest five cents."""
    return (cents + 2) // 5 * 5
