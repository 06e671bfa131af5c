"""Gift cards."""


def redeem(card):
    """Not there yet."""
    raise NotImplementedError
