"""Stamps on a card."""


def full(stamps):
    if len(stamps) >= 10:
        return True
    else:
        return False
