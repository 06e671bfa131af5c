"""The units that have landed, counted on from the landing to which they were counted."""

from collections.abc import Sequence
from itertools import islice

from orchestrator.domain.event.landing import LandingFinished
from orchestrator.domain.ids import UnitId


class LandedUnitSet:
    """All units of a list of landings, which only grows but where a restart cuts it."""

    def __init__(self) -> None:
        self._units: set[UnitId] = set()
        self._counted = 0
        self._last: LandingFinished | None = None

    def has_unit(self, landings: Sequence[LandingFinished], unit: UnitId) -> bool:
        """Return True if a unit is in one of the landings."""
        if self._counted and (self._counted > len(landings) or landings[self._counted - 1] is not self._last):
            self._units, self._counted = set(), 0
        for landing in islice(landings, self._counted, None):
            self._units.update(landing.units)
            self._last = landing
        self._counted = len(landings)
        return unit in self._units
