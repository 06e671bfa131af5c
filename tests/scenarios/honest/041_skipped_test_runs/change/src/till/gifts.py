"""Gift cards."""


def redeem(card):
    """What is on it, once."""
    return card.pop("cents")
