"""Judging one union for a round of trials at the same time: by the whole gate, and by narrow probes for its causes."""

from dataclasses import dataclass

from orchestrator.domain.ids import CommitId, UnitId
from orchestrator.domain.judging.symptoms import GATE_SYMPTOM, collect_symptoms
from orchestrator.domain.purpose import Purpose
from orchestrator.ports.gate import GateResult
from orchestrator.queue.branch_landing import UnitBlame, select_blame
from orchestrator.queue.composition import Composer
from orchestrator.queue.landed_partners import UnionClash, UnionTester
from orchestrator.queue.pr_branch import LandingTools
from orchestrator.queue.symptom_search import UnionResult
from orchestrator.queue.trial_pool import PooledTrial, TrialOutcome

_LOOKS_AT_KNOWN = 4
"""So often is a union judged in which nothing is red but what the base shows now and then, too."""


def names_tests(result: GateResult) -> bool:
    """Return True if a red result names tests, so that it can be searched who makes them red."""
    return bool(collect_symptoms(result.difference) - {GATE_SYMPTOM})


@dataclass(frozen=True)
class UnionTrials:
    """The trials of one round, on top of one head."""

    tools: LandingTools
    composer: Composer
    name: str
    head: CommitId
    reruns: int

    async def judge_union(self, trial: PooledTrial) -> TrialOutcome:
        """Judge a union by the whole gate."""
        purpose = Purpose.for_queue(self.name)
        composed = trial.composed
        result = await self.tools.gate.judge_tree(composed.commit, composed.tree, purpose, trial.is_fresh, self.reruns)
        return TrialOutcome(result)

    async def search_culprits(self, trial: PooledTrial, result: GateResult) -> TrialOutcome:
        """Search for the guilty of a red union, of units that are red only together for the last.

        A union in which nothing is red but what the base shows, too, is judged again.
        """
        groups = [(unit,) for unit in trial.tested]
        tester = UnionTester(self.tools, self.composer, self.name, self.head, groups)
        shown = collect_symptoms(result.difference)
        searched = None if result.is_whole else frozenset[str]()
        tester.results.append(UnionResult(members=tester.full_union, symptoms=shown, searched=searched))
        flaky = frozenset(result.difference.flaky)
        try:
            causes, probes = await tester.find_causes(tester.full_union, sorted(shown), {}, flaky)
        except UnionClash:
            return TrialOutcome(result)
        of_base, culprits = set[str](), dict[UnitId, UnitBlame]()
        for cause in causes:
            if not cause.members:
                of_base.update(cause.symptoms)
                continue
            *partners, guilty = tester.list_units(cause.members)
            blame = select_blame(cause, result, probes.get(cause.members, result))
            culprits[guilty] = UnitBlame(blame, tuple(partners))
        if of_base and not culprits:
            return TrialOutcome(await self._judge_again(trial, result, of_base))
        return TrialOutcome(result, culprits)

    async def _judge_again(self, trial: PooledTrial, result: GateResult, of_base: set[str]) -> GateResult:
        """Judge a union until it is green, or red by something that the base does not show."""
        purpose = Purpose.for_queue(self.name)
        commit, tree = trial.composed.commit, trial.composed.tree
        for _ in range(_LOOKS_AT_KNOWN):
            result = await self.tools.gate.judge_tree(commit, tree, purpose, fresh=True, reruns=self.reruns)
            await self.tools.record_trial(self.name, trial.tested, result, is_second_look=True)
            if result.difference.is_green or not collect_symptoms(result.difference) <= of_base:
                break
        return result
