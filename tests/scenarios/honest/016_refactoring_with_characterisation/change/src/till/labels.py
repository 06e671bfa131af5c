"""Labels for shelves."""


def label(name, price):
    """What stands on the shelf."""
    return " ".join((_head(name), str(price)))


def _head(name):
    return name.title()
