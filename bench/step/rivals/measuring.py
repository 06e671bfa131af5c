"""The cost of a harness's steps, as the last line of its output; nothing is imported that the harness does not need."""

import json
import resource
import sys
import time
from collections.abc import Callable

WARM_RUNS = 2
"""The first run imports and connects, the second is what a run costs besides its further steps."""


def measure_steps(run: Callable[[str, int], None]) -> None:
    """Run twice with one step and once with all, and print what each further step cost.

    The command line holds the server's URL, the number of agents and that of their steps. `run` gets a base URL for
    the model and the number of agents.
    """
    url, agents, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    for number in range(WARM_RUNS):
        short = _measure_run(run, f"{url}/1/{number}", agents)
    long = _measure_run(run, f"{url}/{steps}/{WARM_RUNS}", agents)
    further = agents * (steps - 1) / 1_000
    figures = {
        "cpu_ms": (long[0] - short[0]) / further,
        "children_ms": (long[1] - short[1]) / further,
        "wall_s": long[2],
        "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    print(json.dumps(figures), flush=True)


def _measure_run(run: Callable[[str, int], None], url: str, agents: int) -> tuple[float, float, float]:
    """Return CPU seconds of this process and of its children, and seconds by the clock."""
    before, began = _read_cpu(), time.monotonic()
    run(url, agents)
    after = _read_cpu()
    return after[0] - before[0], after[1] - before[1], time.monotonic() - began


def _read_cpu() -> tuple[float, float]:
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime, children.ru_utime + children.ru_stime
