"""The choice of unions to test at the same time, as a pure function of what is known of the queue.

Whatever lands was tested as it lands. To learn much from each slot, unions are chosen that are green about every other
time: chunks of units of which nothing is known, beside each other, and parts of unions that were red. Whoever was in a
green union is innocent. Innocents that have not landed go ahead of the chunks in some of the unions (a commit trial),
so that they land with a chunk that is green. Where slots are spare, prefixes of one union are tested at once.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from orchestrator.domain.ids import UnitId
from orchestrator.queue.bisection import Units
from orchestrator.queue.trial_knowledge import TrialKnowledge, UnitSet
from orchestrator.queue.trial_sizes import choose_chunk_size, choose_prefix_sizes, choose_split_size

_SOLO_RATE = 0.38
"""With so many red ones no union of several tells more than its units one by one."""


@dataclass(frozen=True)
class RunningTrial:
    """A union under trial. `is_exact` if it would lie on top of the tip; else it was composed on an earlier one.

    With `is_search` its causes are searched for.
    """

    units: Units
    is_exact: bool = True
    is_search: bool = False


@dataclass(frozen=True)
class WantedTrial:
    """A union to test on top of the tip; `is_fresh` asks for a second look at a red one.

    With `is_search` the union is known to be red, and whoever causes that is searched for by the tests it names.
    """

    units: Units
    is_fresh: bool = False
    is_search: bool = False


@dataclass(frozen=True)
class QueueView:
    """The queue at one moment: `chain` are its units in landing order, which can be composed one after the other."""

    chain: Units
    knowledge: TrialKnowledge
    slots: int
    failure_rate: float
    running: Sequence[RunningTrial] = ()


@dataclass(frozen=True)
class QueuePlan:
    """The next step: a union that lands, else a unit that is guilty, else trials to begin; and trials to end now."""

    landed: Units = ()
    guilty: UnitId | None = None
    wanted: tuple[WantedTrial, ...] = ()
    moot: tuple[RunningTrial, ...] = ()


def count_window(queued: Iterable[UnitId], knowledge: TrialKnowledge, free: int, failure_rate: float) -> int:
    """Return how many units at the queue's head are worth composing: what is known, and what `free` slots can take."""
    fresh = max(8, free * choose_chunk_size(failure_rate))
    units = frozenset(queued)
    known = units & knowledge.passed
    for red in knowledge.list_red_sets(units):
        known |= red
    return len(known) + fresh


def plan_queue(view: QueueView) -> QueuePlan:
    """Return what to do next."""
    moot = tuple(trial for trial in view.running if _is_moot(view, trial))
    kept = [trial for trial in view.running if trial not in moot]
    guilty = view.knowledge.find_guilty(view.chain)
    if guilty is not None:
        return QueuePlan(guilty=guilty, moot=moot)
    best = _find_largest_green(view)
    is_held = _is_held_back(view, best, kept)
    if best and not is_held:
        return QueuePlan(landed=best, moot=moot)
    planner = _TrialPlanner(view, kept, is_held)
    planner.choose_trials()
    return QueuePlan(wanted=tuple(planner.wanted), moot=moot)


def _is_moot(view: QueueView, trial: RunningTrial) -> bool:
    """Return True if a trial's answer is foreseen, or would change nothing."""
    units = frozenset(trial.units)
    if not units.issubset(view.chain):
        return True
    if trial.is_search:
        return False
    doubtful = units - view.knowledge.passed
    if not doubtful and not trial.is_exact:
        return True
    if trial.is_exact and trial.units in view.knowledge.verdicts:
        return view.knowledge.verdicts[trial.units].is_green
    return any(red < doubtful for red in view.knowledge.list_red_sets(frozenset(view.chain)))


def _find_largest_green(view: QueueView) -> Units:
    best: Units = ()
    for units, verdict in view.knowledge.verdicts.items():
        if verdict.is_green and len(units) > len(best) and set(units).issubset(view.chain):
            best = units
    return best


def _is_held_back(view: QueueView, best: Units, running: Iterable[RunningTrial]) -> bool:
    """Return True while a union is under trial that lands more innocents, and would not lie on top of `best`."""
    for trial in running:
        innocent = view.knowledge.passed.intersection(trial.units)
        if best and trial.is_exact and len(innocent) > len(best) and trial.units[: len(best)] != best:
            return True
    return False


@dataclass
class _TrialPlanner:
    """The choice of trials for one view. `busy` are units whose guilt is being found out.

    While a green union is held back, no more innocents are put into trials: it does not wait for those as well.
    """

    view: QueueView
    running: Sequence[RunningTrial]
    is_held: bool
    wanted: list[WantedTrial] = field(default_factory=list)
    busy: set[UnitId] = field(default_factory=set)

    def __post_init__(self) -> None:
        knowledge = self.view.knowledge
        self.chain = frozenset(self.view.chain)
        self.red_sets = knowledge.list_red_sets(self.chain)
        self.mixed = self._find_mixed()
        innocent = knowledge.passed.difference(self.mixed)
        self.innocent: Units = ()
        if not self.is_held:
            self.innocent = tuple(unit for unit in self.view.chain if unit in innocent)
        self.chunk_size = 1
        if self.view.failure_rate < _SOLO_RATE:
            self.chunk_size = choose_chunk_size(self.view.failure_rate)
        for trial in self.running:
            self.busy.update(set(trial.units) - knowledge.passed)
        self.commits = 0
        self.most_commits = 1 if self._is_doubted() else max(2, self.view.slots // 4)
        for trial in self.running:
            self.commits += trial.is_exact and set(self.innocent).issubset(trial.units)

    @property
    def free_slots(self) -> int:
        return self.view.slots - len(self.running) - len(self.wanted)

    def choose_trials(self) -> None:
        fresh = self._list_fresh()
        if self.innocent and not self.commits:
            size = 0 if self._is_doubted() else self.chunk_size
            self._add(self.innocent + fresh[:size])
            fresh = fresh[size:]
            self.commits += 1
        self._split_mixed()
        self._look_again()
        self._split_red_sets()
        self._add_chunks(fresh)
        self._split_further()

    def _find_mixed(self) -> Units:
        """Return the smallest red union all of whose members are innocent: some are red only together."""
        for units in self.view.knowledge.list_red_unions(self.chain):
            if len(units) > 1 and self.view.knowledge.passed.issuperset(units):
                return units
        return ()

    def _is_doubted(self) -> bool:
        """Return True if a union with all the innocent was red: they may be red together."""
        for units in self.view.knowledge.list_red_unions(self.chain):
            if len(self.innocent) > 1 and set(self.innocent).issubset(units):
                return True
        return False

    def _split_mixed(self) -> None:
        """Test prefixes of the units that are red only together, so that a part of them lands."""
        count = min(len(self.mixed) - 1, (self.view.slots + 1) // 2)
        for number in range(count, 0, -1):
            self._add(self.mixed[: len(self.mixed) * number // (count + 1) or 1])

    def _list_fresh(self) -> Units:
        red: UnitSet = frozenset().union(*self.red_sets)
        known = self.view.knowledge.passed | red | self.busy
        return tuple(unit for unit in self.view.chain if unit not in known)

    def _look_again(self) -> None:
        for unit in self.view.chain:
            verdict = self.view.knowledge.verdicts.get((unit,))
            if verdict is not None and not verdict.is_green:
                self._add((unit,), is_fresh=True)

    def _split_red_sets(self) -> None:
        order = {unit: place for place, unit in enumerate(self.view.chain)}
        for red in sorted(self.red_sets, key=lambda red: min(order[unit] for unit in red)):
            if red & self.busy:
                continue
            members = tuple(sorted(red, key=order.__getitem__))
            if len(members) == 1 and members in self.view.knowledge.verdicts:
                continue
            if named := self._find_searchable(red):
                self._add(named, is_search=True)
            else:
                self._add(members[: choose_split_size(self.view.failure_rate, len(members))])
            self.busy |= red

    def _find_searchable(self, red: UnitSet) -> Units:
        """Return a union on the tip that is red because of units in `red`, and names the tests that are."""
        for units in self.view.knowledge.list_red_unions(self.chain):
            verdict = self.view.knowledge.verdicts[units]
            if verdict.can_search and len(units) > 1 and red.issubset(units):
                return units
        return ()

    def _add_chunks(self, fresh: Units) -> None:
        if 2 * len(fresh) < self.free_slots * self.chunk_size:
            self._add_prefixes(fresh)
            self._add_parts(fresh)
            return
        while fresh and self.free_slots > 0:
            chunk, fresh = fresh[: self.chunk_size], fresh[self.chunk_size :]
            if self.commits >= self.most_commits:
                self._add(chunk)
            else:
                self._add(self.innocent + chunk)
                self.commits += 1

    def _add_prefixes(self, fresh: Units) -> None:
        """Test prefixes of all that is not red, the longest first, on half of the slots, or both of two."""
        count = self.free_slots if self.free_slots <= 2 else (self.free_slots + 1) // 2
        for size in reversed(choose_prefix_sizes(self.view.failure_rate, count, len(fresh))):
            self._add(self.innocent + fresh[:size])

    def _add_parts(self, units: Units) -> None:
        """Test units in so many parts beside each other as slots are free."""
        if not units or self.free_slots <= 0:
            return
        size = math.ceil(len(units) / self.free_slots)
        for start in range(0, len(units), size):
            self._add(units[start : start + size])

    def _split_further(self) -> None:
        """Use slots that nothing else needs for what is left of the red sets."""
        for red in self.red_sets:
            if self.free_slots <= 0 or len(red) == 1:
                continue
            taken = self._list_taken()
            self._add_parts(tuple(unit for unit in self.view.chain if unit in red and unit not in taken))

    def _list_taken(self) -> set[UnitId]:
        """Return the doubtful units in trials that run or are wanted."""
        taken = set[UnitId]()
        for running in self.running:
            taken.update(running.units)
        for wanted in self.wanted:
            taken.update(wanted.units)
        return taken - self.view.knowledge.passed

    def _add(self, units: Units, *, is_fresh: bool = False, is_search: bool = False) -> None:
        if self.free_slots <= 0 or not units:
            return
        if not is_fresh and not is_search and units in self.view.knowledge.verdicts:
            return
        if any(trial.is_exact and trial.units == units for trial in self.running):
            return
        if any(trial.units == units for trial in self.wanted):
            return
        self.wanted.append(WantedTrial(units, is_fresh, is_search))
        self.busy.update(set(units) - self.view.knowledge.passed)
