"""Rounding."""


def nickel(cents):
    """To five cents."""
    return cents // 5 * 5
