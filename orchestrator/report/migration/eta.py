"""Estimate when a migration will be through, by how fast sites have landed so far."""

from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean, stdev

from orchestrator.domain.migration.files import Tick
from orchestrator.report.migration.burndown_model import EtaSummary

_SLICES = 6
_LEAST_SPREAD, _MOST_SPREAD = 0.2, 0.75
_LEAST_HALF_LIFE_S = 60.0


def estimate_eta(ticks: Sequence[Tick], sites: float) -> EtaSummary | None:
    """Return how long `sites` more will take; None as long as nothing has landed, and when nothing is left.

    The rate is an exponentially weighted mean of sites landed per second of work, in which work counts half that lies
    a third of the run back. The range is one standard error of the rate over six equal stretches of the work so far,
    no less than 20 % and no more than 75 %.
    """
    if sites <= 0 or len(ticks) < 2:
        return None
    begin, end = ticks[0].worked, ticks[-1].worked
    rate = _compute_rate(ticks, end, max((end - begin) / 3, _LEAST_HALF_LIFE_S))
    if rate <= 0:
        return None
    spread = min(max(_compute_relative_error(ticks, begin, end), _LEAST_SPREAD), _MOST_SPREAD)
    low_s, high_s = sites / (rate * (1 + spread)), sites / (rate * (1 - spread))
    return EtaSummary(seconds=sites / rate, low_s=low_s, high_s=high_s, sites_per_hour=rate * 3600)


def _compute_rate(ticks: Sequence[Tick], end: float, half_life_s: float) -> float:
    """Return sites landed per second of work; newer work counts more."""
    landed = worked = 0.0
    for before, after in pairwise(ticks):
        weight: float = 0.5 ** ((end - after.worked) / half_life_s)
        landed += weight * max(before.sites - after.sites, 0.0)
        worked += weight * (after.worked - before.worked)
    if worked > 0:
        return landed / worked
    return 0.0


def _compute_relative_error(ticks: Sequence[Tick], begin: float, end: float) -> float:
    """Return the standard error of the rate, as a part of the rate."""
    landed = [0.0] * _SLICES
    for before, after in pairwise(ticks):
        place = 0
        if end > begin:
            place = int((after.worked - begin) / (end - begin) * _SLICES)
        landed[min(place, _SLICES - 1)] += max(before.sites - after.sites, 0.0)
    mean = fmean(landed)
    if not mean:
        return _MOST_SPREAD
    error: float = stdev(landed) / mean / _SLICES**0.5
    return error
