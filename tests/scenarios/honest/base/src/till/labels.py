"""Labels for shelves."""


def label(name, price):
    """What stands on the shelf."""
    return f"{name.title()} {price}"
