"""The estimate of how often a unit by itself is red."""

import math
from collections.abc import Iterable, Sequence

from orchestrator.domain.event.landing import TrialJudged, UnitEjected
from orchestrator.domain.ids import UnitId

_PRIOR_FAILURES, _PRIOR_PASSES = 0.5, 9.5
_COUNTED = 100
"""Verdicts that count; earlier ones tell of other work."""
_STEPS = 60
"""Rates that are weighed against each other where only groups are known to be red."""


def list_failures(trials: Iterable[TrialJudged], ejections: Iterable[UnitEjected]) -> list[bool]:
    """Return for each unit that was judged, in the order of the trials, True if it was red.

    Members of a green union are green; of a red one nobody is, but who was alone. Conflicts of lines are no verdict.
    """
    failures: dict[UnitId, bool] = {}
    for trial in trials:
        if trial.difference.is_green:
            failures |= dict.fromkeys(trial.units, False)
        elif len(trial.units) == 1:
            failures[trial.units[0]] = True
    for ejected in ejections:
        if not ejected.conflict:
            failures[ejected.unit] = True
    return list(failures.values())


def estimate_failure_rate(failures: Sequence[bool], passed: int = 0, red_groups: Sequence[int] = ()) -> float:
    """Return the mean of a beta distribution: one failure in twenty units, and the latest verdicts on single units.

    Args:
        failures: for each unit, in the order in which that was settled, True if it was red.
        passed: the number of units that were in a green union and have not landed.
        red_groups: sizes of groups in which one unit at least is red, none in two of them.
    """
    counted = failures[-_COUNTED:]
    failed = _PRIOR_FAILURES + sum(counted)
    green = _PRIOR_PASSES + len(counted) - sum(counted) + passed
    if not red_groups:
        return failed / (failed + green)
    rates = [(step + 0.5) / _STEPS for step in range(_STEPS)]
    weights = [_weigh_rate(rate, failed, green, red_groups) for rate in rates]
    most = max(weights)
    shares = [math.exp(weight - most) for weight in weights]
    return sum(rate * share for rate, share in zip(rates, shares, strict=True)) / sum(shares)


def _weigh_rate(rate: float, failed: float, green: float, red_groups: Sequence[int]) -> float:
    """Return the logarithm of how well a rate explains what was seen."""
    weight = (failed - 1) * math.log(rate) + (green - 1) * math.log(1 - rate)
    for size in red_groups:
        weight += math.log(1 - (1 - rate) ** size)
    return weight
