"""Which union of units to try next, as a pure reducer.

Greedy halving: try what is accepted plus a group. Green accepts the group, red splits it, and a group of one that
stays red when it is tried again is guilty. Every accepted union has itself been green, so the last one may land.
Units are named in landing order, and the same answers always lead to the same trials: a search that was interrupted
is found again by asking it anew with the receipts that exist.
"""

from orchestrator.domain.base import Frozen
from orchestrator.domain.ids import UnitId

Units = tuple[UnitId, ...]


class Trial(Frozen):
    """A union to test. `fresh` asks for a new run even if this tree has been judged: the second look at a red one."""

    units: Units
    group: Units
    fresh: bool = False


class Search(Frozen):
    """A search under way: `pending` are groups still to try, next first."""

    accepted: Units = ()
    guilty: Units = ()
    pending: tuple[Units, ...] = ()
    is_second_look: bool = False

    @classmethod
    def over(cls, units: Units) -> "Search":
        """A search that begins with all units together."""
        return cls(pending=(units,) if units else ())

    def next_trial(self) -> Trial | None:
        """What to test now; None when every unit is accepted or guilty."""
        if not self.pending:
            return None
        group = self.pending[0]
        return Trial(units=(*self.accepted, *group), group=group, fresh=self.is_second_look)

    def answered(self, is_green: bool) -> "Search":
        """The search after the answer to `next_trial`."""
        group, rest = self.pending[0], self.pending[1:]
        if is_green:
            return self._with(accepted=(*self.accepted, *group), pending=rest)
        if len(group) > 1:
            middle = (len(group) + 1) // 2
            return self._with(pending=(group[:middle], group[middle:], *rest))
        if not self.is_second_look:
            return self._with(is_second_look=True)
        return self._with(guilty=(*self.guilty, *group), pending=rest)

    def without(self, unit: UnitId) -> "Search":
        """The search when a unit turned out not to be composable with what is accepted."""
        pending = tuple(tuple(u for u in group if u != unit) for group in self.pending)
        return self._with(pending=tuple(group for group in pending if group))

    def _with(self, **changes: object) -> "Search":
        return self.model_copy(update={"is_second_look": False} | changes)
