"""What it costs to send something."""

_HEAVY = 1000
_COSTS = {(True, True): 1500, (True, False): 900, (False, True): 700, (False, False): 400}


def cost(grams, abroad):
    """In cents."""
    return _COSTS[bool(abroad), grams > _HEAVY]
