"""The knowledge that trials of unions have brought, and what of it holds on when the branch moves."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from orchestrator.domain.ids import UnitId
from orchestrator.queue.bisection import Units

UnitSet = frozenset[UnitId]


@dataclass(frozen=True)
class TrialVerdict:
    """The gate's word on a union on top of the branch's tip.

    A red one that is not `is_settled` has to be looked at again before a single unit is blamed by it. One that
    `can_search` names tests, so that the units that make them red can be searched for with narrow probes.
    """

    is_green: bool
    is_settled: bool = True
    can_search: bool = False


@dataclass(frozen=True)
class TrialKnowledge:
    """The verdicts on unions, in composition order, on top of one tip; with what those on earlier tips have left.

    `passed` were members of a green union, on this tip or an earlier one. Each of `red_sets` holds somebody who made a
    union red on an earlier tip. `suspects` were red alone on one, or in a union in which all others are innocent.
    `convicted` were red alone after they had become suspects.
    """

    verdicts: Mapping[Units, TrialVerdict] = field(default_factory=dict)
    passed: UnitSet = frozenset()
    red_sets: frozenset[UnitSet] = frozenset()
    suspects: UnitSet = frozenset()
    convicted: UnitSet = frozenset()

    def add_verdict(self, units: Units, verdict: TrialVerdict) -> "TrialKnowledge":
        """Return the knowledge with a verdict on a union on top of this tip."""
        known = replace(self, verdicts={**self.verdicts, units: verdict})
        if verdict.is_green:
            red_sets = frozenset(red for red in self.red_sets if not red.issubset(units))
            return replace(known, passed=self.passed.union(units), red_sets=red_sets)
        if len(units) > 1:
            return known
        return known._add_solo_failure(units[0], is_settled=verdict.is_settled)

    def add_screen(self, units: Iterable[UnitId], *, is_green: bool) -> "TrialKnowledge":
        """Return the knowledge with the answer on a union on top of an earlier tip: nothing lands by it."""
        if is_green:
            return replace(self, passed=self.passed.union(units))
        known, red = replace(self, red_sets=self.red_sets | {frozenset(units)}), tuple(units)
        if len(red) > 1:
            return known
        known = known._add_solo_failure(red[0], is_settled=False)
        return replace(known, suspects=known.suspects.union(red))

    def _add_solo_failure(self, unit: UnitId, *, is_settled: bool) -> "TrialKnowledge":
        if is_settled or unit in self.suspects or self._is_left_over(unit):
            return replace(self, convicted=self.convicted | {unit})
        return self

    def move_tip(self, landed: Units) -> "TrialKnowledge":
        """Return the knowledge after these units have landed: unions that begin with them have the same tree as before.

        Those that are red without a known reason stay as sets in which somebody is red. A unit that is left alone of a
        red union is looked at again before it is blamed.
        """
        verdicts: dict[Units, TrialVerdict] = {}
        red_sets, suspects, passed = set[UnitSet](), set(self.suspects), self.passed.difference(landed)
        for units, verdict in self.verdicts.items():
            left = units[len(landed) :]
            if units[: len(landed)] == landed and left:
                is_settled = verdict.is_green or (verdict.is_settled and len(left) > 1)
                verdicts[left] = replace(verdict, is_settled=is_settled)
            elif not verdict.is_green:
                red_sets.add(frozenset(units))
        for red in self.red_sets | red_sets:
            if not red.isdisjoint(landed) and red <= self.passed:
                passed -= red  # red only together: the others were innocent without those that landed
        red_sets = {red.difference(landed) for red in self.red_sets | red_sets}
        for red in red_sets:
            if len(red) == 1:
                suspects |= red
        red_sets.discard(frozenset())
        return replace(
            self, verdicts=verdicts, passed=passed, red_sets=frozenset(red_sets), suspects=frozenset(suspects)
        )

    def drop_unit(self, unit: UnitId) -> "TrialKnowledge":
        """Return the knowledge without a unit that left the queue: it explains whatever was red with it."""
        verdicts = {units: verdict for units, verdict in self.verdicts.items() if unit not in units}
        red_sets = frozenset(red for red in self.red_sets if unit not in red)
        return replace(self, verdicts=verdicts, passed=self.passed - {unit}, red_sets=red_sets)

    def find_guilty(self, chain: Units) -> UnitId | None:
        """Return the first unit that was red alone, and was so or was left over in another look."""
        for unit in chain:
            verdict = self.verdicts.get((unit,))
            if unit in self.convicted and not (verdict is not None and verdict.is_green):
                return unit
        return None

    def _is_left_over(self, unit: UnitId) -> bool:
        """Return True if a union was red in which all others are innocent."""
        left_over = self.passed | {unit}
        for units, verdict in self.verdicts.items():
            if not verdict.is_green and len(units) > 1 and unit in units and left_over.issuperset(units):
                return True
        return any(len(red) > 1 and unit in red and red <= left_over for red in self.red_sets)

    def list_red_unions(self, chain: UnitSet) -> list[Units]:
        """Return the unions of units of `chain` that are red on this tip, smallest first."""
        found = []
        for units, verdict in self.verdicts.items():
            if not verdict.is_green and chain.issuperset(units):
                found.append(units)
        return sorted(found, key=len)

    def list_red_sets(self, chain: UnitSet) -> list[UnitSet]:
        """Return the smallest sets of units of `chain` of which one is thought to be red, smallest first.

        Whoever was in a green union is innocent. A set that holds a smaller one tells nothing.
        """
        sets = {frozenset(units).difference(self.passed) for units in self.list_red_unions(chain)}
        sets |= {frozenset(units) for units in self.list_red_unions(chain) if len(units) == 1}
        sets |= {red.difference(self.passed) for red in self.red_sets if red <= chain}
        smallest: list[UnitSet] = []
        for red in sorted(filter(None, sets), key=len):
            if not any(other <= red for other in smallest):
                smallest.append(red)
        return smallest
