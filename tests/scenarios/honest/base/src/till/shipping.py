"""What it costs to send something."""


def cost(grams, abroad):
    """In cents."""
    if abroad:
        if grams > 1000:
            return 1500
        else:
            return 900
    else:
        if grams > 1000:
            return 700
        else:
            return 400
