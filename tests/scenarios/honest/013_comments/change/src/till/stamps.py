"""Stamps on a card: ten of them make it full."""


def full(stamps):
    """Whether the next thing is free."""
    # ten, because a card has two rows of five
    if len(stamps) >= 10:
        return True
    else:
        return False
