"""Measure judging by failure rates: simulated candidates, judged by the gate's own plan of looks.

    python -m bench.flakes
    CANDIDATES=200 python -m bench.flakes

For each suite: how many innocent changes are rejected or left open, how many land that break a test for good or half
the time, and how many looks at the tree and at its base a candidate takes. Leaves with 1 if a bound is passed.
"""

import os
import random
import sys
from collections import Counter

from tests.running.flaky_candidates import build_suite

SUITES = (
    *((1, 0.01), (1, 0.05), (1, 0.1), (1, 0.2), (1, 0.3), (1, 0.5), (3, 0.01), (3, 0.05), (3, 0.1), (3, 0.2)),
    *((5, 0.01), (5, 0.05), (5, 0.1), (10, 0.01), (10, 0.03), (10, 0.05), (10, 0.067), (10, 0.2), (10, 0.5)),
)
"""A suite of flaky tests: their number, and the rate at which each fails."""
BROKEN = {"innocent": None, "always red": 1.0, "half red": 0.5}
MOST_RED = 0.501
"""Innocents count up to this share of runs of the base in which a test is red."""
MOST_REJECTED, MOST_LANDED = 0.01, 0.005


def main() -> int:
    """Print the table; return 1 if more innocents are rejected or more guilty land than may."""
    count = int(os.environ.get("CANDIDATES", "1000"))
    totals = {kind: Counter[str]() for kind in BROKEN}
    print(f"{'tests':>5} {'rate':>6} {'red runs':>8}  {'change':<10} {'landed':>7} {'rejected':>8} {'open':>5}  looks")
    for tests, rate in SUITES:
        red_runs = 1 - (1 - rate) ** tests
        for kind, broken in BROKEN.items():
            ends, looks = _judge_candidates(count, tests, rate, broken, kind)
            if broken is not None or red_runs <= MOST_RED:
                totals[kind] += ends
            counts = f"{ends['landed']:>7} {ends['rejected']:>8} {ends['unsettled']:>5}"
            print(f"{tests:>5} {rate:>6.1%} {red_runs:>8.1%}  {kind:<10} {counts}  {looks}", flush=True)
    return _report_totals(totals)


def _judge_candidates(count: int, tests: int, rate: float, broken: float | None, kind: str) -> tuple[Counter[str], str]:
    """Return how candidates of one kind ended, and how many looks beyond the first they took at tree and base."""
    ends, at_tree, at_base = Counter[str](), 0, 0
    for number in range(count):
        suite = build_suite(random.Random(f"{number} {tests} {rate} {kind}"), tests, rate, broken)
        ends[suite.judge()] += 1
        at_tree += suite.count_looks(at_base=False)
        at_base += suite.count_looks(at_base=True)
    return ends, f"{at_tree / count:.1f} + {at_base / count:.1f}"


def _report_totals(totals: dict[str, Counter[str]]) -> int:
    innocent, guilty = totals["innocent"], totals["always red"] + totals["half red"]
    rejected, landed = innocent["rejected"] / innocent.total(), guilty["landed"] / guilty.total()
    open_share = innocent["unsettled"] / innocent.total()
    print(f"innocent rejected {rejected:.2%} (at most {MOST_REJECTED:.0%}), left open {open_share:.2%}")
    print(f"guilty landed {landed:.2%} (at most {MOST_LANDED:.1%})")
    return int(rejected > MOST_REJECTED or landed > MOST_LANDED)


if __name__ == "__main__":
    sys.exit(main())
