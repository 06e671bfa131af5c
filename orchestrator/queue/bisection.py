"""The choice of the union of units to try next, as a pure reducer.

Greedy halving: try what is accepted plus a group. Green accepts the group, red splits it, and a group of one that
stays red when it is tried again is guilty. Every accepted union has itself been green, so the last one may land.
A unit may have been red only for want of one that was accepted later, so at the end the guilty are tried once more on
top of everything accepted since: no unit that is green on top of what lands is left behind.
Units are named in landing order, and the same answers always lead to the same trials: a search that was interrupted
is found again by asking it anew with the receipts that exist.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from pydantic import Field

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.ids import UnitId

T = TypeVar("T", bound=str)
Units = tuple[UnitId, ...]


def merge_groups(units: Sequence[T], groups: Iterable[Sequence[T]]) -> list[tuple[T, ...]]:
    """Return the units as groups that stay together, each at its first unit's place; overlapping groups become one."""
    leader = dict(zip(units, units, strict=True))

    def find_leader(unit: T) -> T:
        while leader[unit] != unit:
            leader[unit] = leader[leader[unit]]
            unit = leader[unit]
        return unit

    for group in groups:
        known = [unit for unit in group if unit in leader]
        for unit in known[1:]:
            leader[find_leader(unit)] = find_leader(known[0])
    members: dict[T, list[T]] = {}
    for unit in units:
        members.setdefault(find_leader(unit), []).append(unit)
    return list(map(tuple, members.values()))


class HalvingTrial(FrozenModel):
    """A union to test. `fresh` asks for a new run even if this tree has been judged: the second look at a red one."""

    units: Units
    group: Units
    fresh: bool = False


class HalvingSearch(FrozenModel):
    """A search under way: `pending` are groups still to try, next first.

    `blamed` holds, for each unit that was ever found guilty, how many were accepted when it was last tried.
    """

    accepted: Units = ()
    guilty: Units = ()
    blamed: Mapping[UnitId, int] = Field(default_factory=dict)
    pending: tuple[Units, ...] = ()
    is_second_look: bool = False

    @classmethod
    def begin_with(cls, units: Units) -> "HalvingSearch":
        """Return a search that begins with all units together."""
        return cls(pending=(units,) if units else ())

    def get_next_trial(self) -> HalvingTrial | None:
        """Return what to test now; None when every unit is accepted or guilty."""
        if not self.pending:
            return None
        group = self.pending[0]
        return HalvingTrial(units=(*self.accepted, *group), group=group, fresh=self.is_second_look)

    def apply_answer(self, is_green: bool) -> "HalvingSearch":
        """Return the search after the answer to `get_next_trial`."""
        group, rest = self.pending[0], self.pending[1:]
        if is_green:
            return self._apply_changes(accepted=(*self.accepted, *group), pending=rest)
        if len(group) > 1:
            middle = (len(group) + 1) // 2
            return self._apply_changes(pending=(group[:middle], group[middle:], *rest))
        if not self.is_second_look and group[0] not in self.blamed:
            return self._apply_changes(is_second_look=True)
        blamed = {**self.blamed, group[0]: len(self.accepted)}
        return self._apply_changes(guilty=(*self.guilty, *group), blamed=blamed, pending=rest)

    def drop_unit(self, unit: UnitId) -> "HalvingSearch":
        """Return the search when a unit turned out not to be composable with what is accepted."""
        pending = tuple(tuple(u for u in group if u != unit) for group in self.pending)
        return self._apply_changes(pending=tuple(filter(None, pending)))

    def _apply_changes(self, **changes: object) -> "HalvingSearch":
        search = self.model_copy(update={"is_second_look": False} | changes)
        return search if search.pending else search._retry_guilty()

    def _retry_guilty(self) -> "HalvingSearch":
        """Try the guilty again that have not been tried on top of all that is accepted."""
        doubtful = [unit for unit in self.guilty if self.blamed[unit] < len(self.accepted)]
        guilty = tuple(unit for unit in self.guilty if unit not in doubtful)
        return self.model_copy(update={"guilty": guilty, "pending": tuple((unit,) for unit in doubtful)})
