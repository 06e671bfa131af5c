"""The gate of the queue of a goal: the whole of it, and all that the judge would have looked at in whole runs.

Where the tests of candidates were only looked at by a selection, this is the first time that everything runs. So what
their judge asked of the selected tests is asked of all tests here, of the union that is to land.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from anyio import to_thread

from orchestrator.domain.ids import CommitId, TreeId
from orchestrator.domain.judging.check import Difference
from orchestrator.domain.judging.symptoms import GATE_SYMPTOM
from orchestrator.domain.judging.verdict import Finding
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.run.grant import AnyGrant
from orchestrator.domain.run.task import TaskStatus
from orchestrator.engine.context import RunContext
from orchestrator.engine.judging.base_tests import BaseTestsJudge
from orchestrator.engine.judging.candidate_changes import JudgedChange, read_candidate_changes
from orchestrator.engine.judging.support_files import find_newcomers, read_base_gate
from orchestrator.engine.judging.trace_findings import find_trace_findings
from orchestrator.judge.evolution.test_evolution import TestEvolution
from orchestrator.judge.rules.change_facts import ChangeFacts
from orchestrator.judge.rules.registry import check_change
from orchestrator.ports.gate import GateResult


@dataclass(frozen=True)
class UnionGate:
    """A `ports.gate.Gate` for unions of candidates on top of `head`."""

    context: RunContext
    head: CommitId

    async def judge_tree(
        self, commit: CommitId, tree: TreeId, purpose: Purpose, fresh: bool = False, reruns: int = 0
    ) -> GateResult:
        """Return what the whole gate says of a union, and what its runs show beside their outcomes.

        Raises:
            EnvironmentProblem: the checks could not be run at all.
        """
        result = await self.context.gate.judge_tree(commit, tree, purpose, fresh, reruns)
        if not result.difference.is_green or not self._has_provisional_verdict():
            return result
        changes = await read_candidate_changes(self.context.repository.git, self.head, commit)
        reading = await read_base_gate(self.context, self.head, changes.files)
        change = JudgedChange(commit, tree, self.head, changes.with_reading(reading))
        judge = _UnionJudge(self.context, change, purpose)
        return await judge.add_evidence(result)

    async def probe_tree(
        self, commit: CommitId, tree: TreeId, purpose: Purpose, symptoms: Sequence[str], look: int = 0
    ) -> GateResult:
        """Probe a union for symptoms; for the one that is no test by everything that it is judged by.

        Raises:
            EnvironmentProblem: the checks could not be run at all.
        """
        if GATE_SYMPTOM in symptoms and self._has_provisional_verdict():
            return await self.judge_tree(commit, tree, purpose, fresh=look > 0)
        return await self.context.gate.probe_tree(commit, tree, purpose, symptoms, look)

    def _has_provisional_verdict(self) -> bool:
        """Return True if the tests of a candidate that waits for its landing were only looked at by a selection."""
        state = self.context.state
        for name in state.task_index.list_with_status(TaskStatus.QUEUED):
            given = state.tasks[name].verdict
            if given is not None and given.verdict.is_provisional:
                return True
        return False


@dataclass(frozen=True)
class _UnionJudge:
    """A union whose gate is green, with its changes against the head that it stands on.

    What the plan lets any of its tasks do counts: a union may hold the work of many.
    """

    context: RunContext
    change: JudgedChange
    purpose: Purpose

    async def add_evidence(self, result: GateResult) -> GateResult:
        """Return the green result with what the base's tests and the traces of the runs say."""
        grants = self.context.state.task_index.list_grants()
        evolution = TestEvolution(self.change.changes.files, grants)
        judge = BaseTestsJudge(self.context, self.change, grants, evolution, self.purpose)
        held = await judge.judge_change(result.difference, selects=False)
        if held is not None:
            difference, receipts = result.difference + held.difference, (*held.receipts, *result.receipts)
            cached = result.cached and held.cached
            result = result.model_copy(update={"difference": difference, "receipts": receipts, "cached": cached})
        if not result.difference.is_green:
            return result
        found = await self._find_problems(result, grants)
        blocking = [finding.text for finding in found if finding.is_blocking]
        return result.model_copy(update={"difference": result.difference + Difference(problems=tuple(blocking))})

    async def _find_problems(self, result: GateResult, grants: Sequence[AnyGrant]) -> tuple[Finding, ...]:
        context, change = self.context, self.change
        newcomers = await find_newcomers(context, change.base, change.tree, change.changes.files)
        facts = ChangeFacts(grants=grants, difference=result.difference, newcomers=newcomers)
        found = await to_thread.run_sync(check_change, facts)
        granted = (context.state.tasks[name] for name in context.state.task_index.list_granted())
        planned = tuple(chain.from_iterable(task.plan_grants for task in granted))
        receipts = context.list_receipts(result.receipts)
        return (*found, *await find_trace_findings(context, change, planned, receipts, self.purpose))
