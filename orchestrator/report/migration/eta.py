"""When a migration will be through, judged by how fast sites have landed so far."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from statistics import fmean, stdev
from typing import Any

from orchestrator.domain.migration.files import Tick

_SLICES = 6
_LEAST, _MOST = 0.2, 0.75
_LEAST_HALF_LIFE_S = 60.0


@dataclass(frozen=True)
class Eta:
    """Seconds of work until everything that still climbs has landed, with a range, and the rate they rest on."""

    seconds: float
    low_s: float
    high_s: float
    sites_per_hour: float

    def as_object(self) -> dict[str, Any]:
        """As data."""
        return {name: round(value, 1) for name, value in asdict(self).items()}


def estimate_eta(ticks: Sequence[Tick], sites: float) -> Eta | None:
    """How long `sites` more will take; None as long as nothing has landed, and when nothing is left.

    The rate is an exponentially weighted mean of sites landed per second of work, in which work counts half that lies
    a third of the run back. The range is one standard error of the rate over six equal stretches of the work so far,
    no less than 20 % and no more than 75 %.
    """
    if sites <= 0 or len(ticks) < 2:
        return None
    begin, end = ticks[0].worked, ticks[-1].worked
    rate = _rate(ticks, end, max((end - begin) / 3, _LEAST_HALF_LIFE_S))
    if rate <= 0:
        return None
    spread = min(max(_error(ticks, begin, end), _LEAST), _MOST)
    return Eta(sites / rate, sites / (rate * (1 + spread)), sites / (rate * (1 - spread)), rate * 3600)


def _rate(ticks: Sequence[Tick], end: float, half_life_s: float) -> float:
    landed = worked = 0.0
    for before, after in pairwise(ticks):
        weight = 0.5 ** ((end - after.worked) / half_life_s)
        landed += weight * max(before.sites - after.sites, 0.0)
        worked += weight * (after.worked - before.worked)
    if worked > 0:
        return landed / worked
    return 0.0


def _error(ticks: Sequence[Tick], begin: float, end: float) -> float:
    """The standard error of the rate, as a part of the rate."""
    slices = [0.0] * _SLICES
    for before, after in pairwise(ticks):
        place = int((after.worked - begin) / (end - begin) * _SLICES) if end > begin else 0
        slices[min(place, _SLICES - 1)] += max(before.sites - after.sites, 0.0)
    mean = fmean(slices)
    if mean:
        return float(stdev(slices) / mean / _SLICES**0.5)
    return _MOST
