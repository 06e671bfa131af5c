"""The cost of a harness's steps, as the last line of its output; nothing is imported that the harness does not need."""

import json
import resource
import statistics
import sys
import time
from collections.abc import Callable


def measure_steps(run: Callable[[str, int], None]) -> None:
    """Run with one step and with all in turns, and print what each further step cost: the median of the pairs.

    A run before them imports and connects. The command line holds the server's URL, the number of agents, that of their
    steps and that of pairs. `run` gets a base URL for the model and the number of agents.
    """
    url, (agents, steps, pairs) = sys.argv[1], map(int, sys.argv[2:])
    further = agents * (steps - 1) / 1_000
    _measure_run(run, f"{url}/1/warm", agents)
    own, children, seconds, rss_kb = [], [], [], 0
    for number in range(pairs):
        short = _measure_run(run, f"{url}/1/short{number}", agents)
        long = _measure_run(run, f"{url}/{steps}/long{number}", agents)
        own.append((long[0] - short[0]) / further)
        children.append((long[1] - short[1]) / further)
        seconds.append(long[2])
        rss_kb = rss_kb or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    figures = {
        "cpu_ms": statistics.median(own),
        "children_ms": statistics.median(children),
        "wall_s": statistics.median(seconds),
        "rss_mb": rss_kb / 1024,
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
