"""Taxes."""


def with_tax(net, rate=19):
    """A price with its tax."""
    return net * (100 + rate) // 100
