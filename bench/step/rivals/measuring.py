"""What a harness cost, as the last line of its output; nothing is imported that the harness does not need."""

import json
import resource
import time


def print_costs(began: float) -> None:
    """Print CPU seconds of this process and of its children, seconds by the clock and MB of memory at most."""
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    costs = {
        "cpu_s": own.ru_utime + own.ru_stime,
        "children_s": children.ru_utime + children.ru_stime,
        "wall_s": time.monotonic() - began,
        "rss_mb": own.ru_maxrss / 1024,
    }
    print(json.dumps(costs), flush=True)
