"""Odds and ends."""


def used(text):
    """Without spaces around it."""
    return text.strip()
