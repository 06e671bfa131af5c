"""Odds and ends."""


def used(text):
    """Without spaces around it."""
    return text.strip()


def never_called(text):
    """Nobody calls this any more."""
    return text[::-1]
