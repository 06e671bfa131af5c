"""A round of the queue that tests unions on all free slots at the same time, and ends as soon as something landed.

`orchestrator.queue.policy` decides what is tested. Trials that are still of use go on in the pool, and later rounds
take their outcomes. Every value that the branch ever has was green.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from orchestrator.domain.event.landing import UnitEjected
from orchestrator.domain.ids import UnitId
from orchestrator.ports.gate import Gate, GateResult
from orchestrator.ports.hooks import NO_HOOKS, Hooks
from orchestrator.ports.ledger import Ledger
from orchestrator.queue.bisection import Units
from orchestrator.queue.branch_landing import BranchLanding, LandingResult, UnitBlame, build_ejections
from orchestrator.queue.candidate_order import CandidateFacts, order_candidates
from orchestrator.queue.chain_composer import CandidateChain, ChainComposer
from orchestrator.queue.changed_paths import PathReader
from orchestrator.queue.composition import Composer, UnitConflict
from orchestrator.queue.failure_rate import estimate_failure_rate
from orchestrator.queue.policy import QueuePlan, QueueView, WantedTrial, count_window, plan_queue
from orchestrator.queue.pr_branch import LandingTools, PrBranch
from orchestrator.queue.trial_knowledge import TrialVerdict
from orchestrator.queue.trial_pool import PooledTrial, TrialPool
from orchestrator.queue.union_trials import UnionTrials, names_tests
from worktrees.errors import RefMoved


@dataclass(frozen=True)
class ParallelOptions:
    """The options of a parallel round.

    Attributes:
        count_slots: returns how many trials may run at once.
        reruns: how often the gate judges a union with a few red tests again.
        failures: of units that were settled before, in order, True for each that was red.
        read_paths: reads the paths of a unit, so that only those are merged for conflicts that share one.
        is_serial: test all units together first, and one union at a time: the order of a recording is kept.
    """

    count_slots: Callable[[], int]
    reruns: int = 0
    failures: Sequence[bool] = ()
    read_paths: PathReader | None = None
    is_serial: bool = False


class ParallelRound:
    """One round against one value of the branch."""

    def __init__(
        self, tools: LandingTools, composer: Composer, pool: TrialPool, name: str, options: ParallelOptions
    ) -> None:
        self._tools = tools
        self._pool = pool
        self._name = name
        self._options = options
        self._chains = ChainComposer(composer, pool.steps)
        self._landing = BranchLanding(tools, self._chains)
        self._set_aside: set[UnitId] = set()

    async def run(self, candidates: Sequence[CandidateFacts]) -> LandingResult:
        """Test, until something lands or is ejected.

        Raises:
            worktrees.errors.RefMoved: somebody else moved the branch; nothing was landed.
            OrchestrateError: a trial could not be made.
        """
        queued = tuple(one.unit for one in candidates)
        self._old, held = await self._landing.read_tip(self._name, queued, self._options.reruns)
        self._head = self._old or self._tools.branch.base
        self._pool.stand_on(self._head)
        if held:
            return LandingResult(landed=held, ejected=())
        while True:
            chain = await self._compose_chain(self._order_candidates(candidates))
            if chain.conflicts:
                return await self._eject_conflicts(chain.conflicts)
            plan = self._choose_plan(chain.units)
            if plan.guilty is not None:
                return await self._eject_guilty(plan.guilty)
            if plan.landed:
                if await self._land_units(plan.landed):
                    self._count_skips(candidates)
                    return LandingResult(landed=plan.landed, ejected=())
                continue
            is_composed = await self._begin_trials(plan.wanted)
            if self._pool.list_running():
                for trial in await self._pool.wait_for_outcomes():
                    await self._take_outcome(trial)
            elif is_composed:
                return LandingResult(landed=(), ejected=())

    def _order_candidates(self, candidates: Sequence[CandidateFacts]) -> Units:
        kept = [one for one in candidates if one.unit not in self._set_aside]
        if self._options.is_serial:
            return tuple(one.unit for one in kept)
        skips = self._pool.skips
        return order_candidates(replace(one, skips=skips[one.unit]) for one in kept)

    async def _compose_chain(self, ordered: Units) -> CandidateChain:
        """Return the units worth composing: innocents first, as they land first, and then whoever was tried."""
        knowledge, tried = self._pool.memory.knowledge, self._pool.tried
        ranked = sorted(ordered, key=lambda unit: (unit not in knowledge.passed, unit not in tried))
        most = len(ordered)
        if not self._options.is_serial:
            busy = set[UnitId]().union(*(trial.units for trial in self._pool.list_running())) - knowledge.passed
            free = self._count_slots() - len(self._pool.list_running())
            most = len(busy) + count_window(ordered, knowledge, free, self._estimate_rate(ordered))
        if self._options.read_paths is None:
            return await self._chains.compose_chain(self._head, ranked, most)
        return await self._chains.select_chain(self._head, ranked, most, self._pool.paths, self._options.read_paths)

    def _count_slots(self) -> int:
        return 1 if self._options.is_serial else max(1, self._options.count_slots())

    def _estimate_rate(self, units: Units) -> float:
        if self._options.is_serial:
            return 0.0
        knowledge, queued = self._pool.memory.knowledge, frozenset(units)
        groups = [len(red) for red in knowledge.list_red_sets(queued) if len(red) > 1]
        return estimate_failure_rate(self._options.failures, red_groups=groups)

    def _choose_plan(self, units: Units) -> QueuePlan:
        """Return the next step, after trials that are of no use any more have been ended."""
        running = self._pool.list_running()
        views = [trial.policy_view for trial in running]
        view = QueueView(units, self._pool.memory.knowledge, self._count_slots(), self._estimate_rate(units), views)
        plan = plan_queue(view)
        self._pool.end_trials([trial for trial in running if trial.policy_view in plan.moot])
        return plan

    async def _begin_trials(self, wanted: Iterable[WantedTrial]) -> bool:
        """Begin trials; return False if a unit conflicts where its paths did not say so, as with a renamed folder.

        A unit that conflicts with another one waits for the next round. One that conflicts with the branch does not
        count as fitting any more, so the next chain finds the conflict.
        """
        trials = UnionTrials(self._tools, self._chains, self._name, self._head, self._options.reruns)
        for one in wanted:
            composed = await self._chains.compose_union(self._head, one.units)
            if isinstance(composed, UnitConflict):
                self._pool.paths.fitting.discard(composed.unit)
                if not composed.with_head:
                    self._set_aside.add(composed.unit)
                return False
            trial = PooledTrial(one.units, composed, one.is_fresh, one.is_search, one.units)
            result = self._pool.memory.results.get(one.units)
            if one.is_search and result is not None:
                self._pool.begin_trial(trial, partial(trials.search_culprits, trial, result))
            else:
                self._pool.begin_trial(trial, partial(trials.judge_union, trial))
        return True

    async def _take_outcome(self, trial: PooledTrial) -> None:
        """Take down what a trial has told, and what the hooks say of a union that may land."""
        if trial.error is not None:
            raise trial.error
        if trial.outcome is None:
            return
        result, pool = trial.outcome.result, self._pool
        if result.difference.is_green:
            pool.green_trees.add(result.tree)
        if trial.is_search:
            pool.convict_units(trial.outcome.culprits)
        elif trial.is_exact and result.difference.is_green:
            result = await self._ask_hooks(trial.units, result)
        if not trial.is_search:
            await self._tools.record_trial(self._name, trial.tested, result, is_second_look=trial.is_fresh)
        self._note_verdict(trial, result)

    def _note_verdict(self, trial: PooledTrial, result: GateResult) -> None:
        memory, units, is_green = self._pool.memory, trial.units, result.difference.is_green
        is_vetoed = units in memory.vetoes
        if len(trial.tested) == 1 and not is_green:
            self._pool.blames[units[0]] = UnitBlame(result, is_vetoed=is_vetoed)
        if not trial.is_exact:
            memory.knowledge = memory.knowledge.add_screen(units, is_green=is_green)
            return
        memory.results[units] = result
        is_settled = is_green or is_vetoed or trial.is_fresh or self._options.reruns > 0 or len(units) > 1
        can_search = not is_green and not trial.is_search and names_tests(result)
        verdict = TrialVerdict(is_green, is_settled=is_settled, can_search=can_search)
        memory.knowledge = memory.knowledge.add_verdict(units, verdict)

    async def _ask_hooks(self, units: Units, result: GateResult) -> GateResult:
        """Return the result, or a red one where a hook refuses that the union lands."""
        memory = self._pool.memory
        tested = await self._chains.compose_union(self._head, units)
        if isinstance(tested, UnitConflict) or tested.tree not in self._pool.green_trees:
            raise ValueError(f"{', '.join(units)} make another tree than the one that was tested")
        composed, veto = await self._landing.prepare_landing(self._head, units, tested)
        if veto is None:
            memory.approved[units] = composed
            return result
        memory.vetoes[units] = veto
        return result.model_copy(update={"difference": veto})

    async def _land_units(self, units: Units) -> bool:
        """Land a green union; return False if a hook refuses that, which makes it red."""
        memory = self._pool.memory
        if units not in memory.approved:
            refused = await self._ask_hooks(units, memory.results[units])
            if units in memory.vetoes:
                await self._tools.record_trial(self._name, units, refused)
                memory.results[units] = refused
                memory.knowledge = memory.knowledge.add_verdict(units, TrialVerdict(is_green=False))
                return False
        composed = memory.approved[units]
        await self._landing.move_branch(self._old, composed, units)
        self._pool.follow_landing(units, composed.commit)
        return True

    async def _eject_guilty(self, unit: UnitId) -> LandingResult:
        ejected = build_ejections(self._name, {unit: self._pool.find_blame(unit)})
        await self._tools.ledger.append(*ejected)
        self._pool.drop_unit(unit)
        return LandingResult(landed=(), ejected=ejected)

    async def _eject_conflicts(self, conflicts: Iterable[UnitConflict]) -> LandingResult:
        ejected = []
        for clash in conflicts:
            ejected.append(UnitEjected(round=self._name, unit=clash.unit, conflict=clash.paths))
            self._pool.drop_unit(clash.unit)
        await self._tools.ledger.append(*ejected)
        return LandingResult(landed=(), ejected=tuple(ejected))

    def _count_skips(self, candidates: Sequence[CandidateFacts]) -> None:
        """Count a landing for everybody of whom nothing was found out meanwhile."""
        state = self._tools.ledger.state
        queued = {one.unit for one in candidates if not state.has_landed(one.unit)}
        for unit in queued - self._list_tried(queued):
            self._pool.skips[unit] += 1

    def _list_tried(self, queued: Iterable[UnitId]) -> set[UnitId]:
        """Return the queued units of which something is known, or is being found out."""
        units, knowledge = frozenset(queued), self._pool.memory.knowledge
        tried = set(units & knowledge.passed).union(*knowledge.list_red_sets(units))
        for trial in self._pool.list_running():
            tried.update(units.intersection(trial.units))
        return tried


class ParallelLander:
    """Lands units on one branch, one round at a time, each with trials on all free slots."""

    def __init__(self, ledger: Ledger, gate: Gate, branch: PrBranch, pool: TrialPool, hooks: Hooks = NO_HOOKS) -> None:
        self._tools = LandingTools(ledger, gate, branch, hooks)
        self._pool = pool

    async def land_candidates(
        self, name: str, candidates: Sequence[CandidateFacts], composer: Composer, options: ParallelOptions
    ) -> LandingResult:
        """Test candidates on top of the branch until some land, or one is ejected; the others stay queued.

        Raises:
            PersonNeeded: the branch is checked out somewhere, or somebody has made it red.
            EnvironmentProblem: the gate could not run.
        """
        while True:
            try:
                return await ParallelRound(self._tools, composer, self._pool, name, options).run(candidates)
            except RefMoved:
                continue  # somebody else moved the branch: judge again on top of what it is now
