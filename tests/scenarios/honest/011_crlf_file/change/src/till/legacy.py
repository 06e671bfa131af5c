"""What the old till knew."""


def old_total(values):
    """All of them together."""
    return sum(values)
