"""Trials under way, and what earlier ones told: both outlive the round that began them."""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field, replace

import anyio
from anyio.abc import TaskGroup

from orchestrator.domain.ids import CommitId, TreeId, UnitId
from orchestrator.domain.judging.check import Difference
from orchestrator.errors import OrchestrateError
from orchestrator.ports.gate import GateResult
from orchestrator.queue.bisection import Units
from orchestrator.queue.branch_landing import UnitBlame
from orchestrator.queue.chain_composer import ComposedSteps
from orchestrator.queue.changed_paths import CandidatePaths
from orchestrator.queue.composition import ComposedUnion, RemadeFiles
from orchestrator.queue.policy import RunningTrial
from orchestrator.queue.trial_knowledge import TrialKnowledge


@dataclass(frozen=True)
class TrialOutcome:
    """The gate's word on a union; after a search with those who are guilty of it."""

    result: GateResult
    culprits: dict[UnitId, UnitBlame] = field(default_factory=dict)


@dataclass(eq=False)
class PooledTrial:
    """A union under trial. `units` are those that have not landed since; `tested` are all that were composed."""

    tested: Units
    composed: ComposedUnion
    is_fresh: bool
    is_search: bool
    units: Units
    is_exact: bool = True
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    outcome: TrialOutcome | None = None
    error: OrchestrateError | None = None

    @property
    def policy_view(self) -> RunningTrial:
        """The trial as the policy sees it."""
        return RunningTrial(self.units, self.is_exact, self.is_search)


@dataclass
class TipMemory:
    """The memory of the queue for one tip of the branch, `head`.

    Attributes:
        head: the commit that all unions lie on.
        knowledge: the verdicts.
        results: the gate's words on unions on this tip.
        vetoes: unions that a hook refused on this tip, with its words.
        approved: the commits by which unions may land on this tip: they are green, and no hook refused them.
    """

    head: CommitId | None = None
    knowledge: TrialKnowledge = field(default_factory=TrialKnowledge)
    results: dict[Units, GateResult] = field(default_factory=dict)
    vetoes: dict[Units, Difference] = field(default_factory=dict)
    approved: dict[Units, ComposedUnion] = field(default_factory=dict)


class TrialPool:
    """The running trials of one branch, in a task group that outlives the rounds.

    An error of a trial is raised by the round that takes its outcome.
    """

    def __init__(self, tasks: TaskGroup) -> None:
        self._tasks = tasks
        self._running: list[PooledTrial] = []
        self._done: list[PooledTrial] = []
        self._changed = anyio.Event()
        self.memory = TipMemory()
        self.steps: ComposedSteps = {}
        self.remade: RemadeFiles = {}
        self.paths = CandidatePaths()
        self.green_trees: set[TreeId] = set()
        self.blames: dict[UnitId, UnitBlame] = {}
        self.skips = Counter[UnitId]()
        self.tried = set[UnitId]()
        """Units that were in a trial: whoever conflicts with one of them waits, so that the trial was not in vain."""

    def list_running(self) -> list[PooledTrial]:
        """Return the trials under way, and those whose outcome nobody has taken."""
        return [*self._running, *self._done]

    def begin_trial(self, trial: PooledTrial, judge: Callable[[], Awaitable[TrialOutcome]]) -> None:
        """Begin a trial beside the others."""
        self._running.append(trial)
        self.tried.update(trial.tested)
        self._tasks.start_soon(self._run_trial, trial, judge)

    async def wait_for_outcomes(self) -> list[PooledTrial]:
        """Return trials that have ended, at least one; they are in the pool no more."""
        while not self._done:
            self._changed = anyio.Event()
            await self._changed.wait()
        done, self._done = self._done, []
        return done

    def end_trials(self, trials: Iterable[PooledTrial]) -> None:
        """Stop trials whose answer nobody needs."""
        for trial in trials:
            trial.scope.cancel()
            for kept in (self._running, self._done):
                if trial in kept:
                    kept.remove(trial)

    def end_all_trials(self) -> None:
        """Stop everything: nothing is queued any more, or nobody may go on."""
        self.end_trials(self.list_running())

    def stand_on(self, head: CommitId) -> None:
        """Forget what was found on top of another commit than `head`, where somebody else moved the branch."""
        if self.memory.head != head:
            self.end_all_trials()
            self.memory = TipMemory(head)
            self.paths = CandidatePaths()

    def follow_landing(self, landed: Units, head: CommitId) -> None:
        """Note that units landed: unions that begin with them lie on the new tip, all others on an earlier one."""
        for trial in self.list_running():
            trial.is_exact = trial.is_exact and trial.units[: len(landed)] == landed
            trial.units = tuple(unit for unit in trial.units if unit not in landed)
        self.end_trials([trial for trial in self.list_running() if not trial.units])
        self.paths.follow_landing(landed)
        results: dict[Units, GateResult] = {}
        for units, result in self.memory.results.items():
            if units[: len(landed)] == landed:
                results[units[len(landed) :]] = result
        self.memory = TipMemory(head, self.memory.knowledge.move_tip(landed), results)

    def drop_unit(self, unit: UnitId) -> None:
        """Forget a unit that was ejected."""
        self.memory.knowledge = self.memory.knowledge.drop_unit(unit)
        self.blames.pop(unit, None)
        self.skips.pop(unit, None)

    def find_blame(self, unit: UnitId) -> UnitBlame:
        """Return why a guilty unit is red."""
        return self.blames.get(unit) or UnitBlame(self.memory.results[unit,])

    def convict_units(self, culprits: dict[UnitId, UnitBlame]) -> None:
        """Note whom a search has found."""
        self.blames |= culprits
        knowledge = self.memory.knowledge
        self.memory.knowledge = replace(knowledge, convicted=knowledge.convicted.union(culprits))

    async def _run_trial(self, trial: PooledTrial, judge: Callable[[], Awaitable[TrialOutcome]]) -> None:
        with trial.scope:
            try:
                trial.outcome = await judge()
            except OrchestrateError as error:
                trial.error = error
        if trial in self._running:
            self._running.remove(trial)
            self._done.append(trial)
            self._changed.set()
