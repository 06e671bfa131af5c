"""Testing a candidate: the gate on its tree, the tests of its base on its code, the task's own checks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

from anyio import to_thread

from orchestrator.domain.judging import check
from orchestrator.domain.judging.verdict import Finding
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.run.grant import GrantIntent
from orchestrator.domain.run.state import TaskState
from orchestrator.engine.context import RunContext
from orchestrator.engine.judging.base_tests import BaseTestsJudge
from orchestrator.engine.judging.candidate_changes import JudgedChange
from orchestrator.engine.judging.mixed_runs import run_mixed_tests
from orchestrator.engine.judging.mutant_findings import MutantFindings, find_mutant_findings
from orchestrator.engine.judging.repeated_tests import judge_repeated_tests
from orchestrator.engine.judging.rewritten_tests import judge_rewrites
from orchestrator.engine.judging.support_files import find_newcomers
from orchestrator.engine.judging.trace_findings import find_trace_findings
from orchestrator.judge.behaviour.replaying import list_recorded_modules
from orchestrator.judge.evolution.test_evolution import TestEvolution
from orchestrator.judge.files.grants import build_grant_matcher
from orchestrator.judge.gate.baseline import describe_broken_run
from orchestrator.judge.gate.check_runner import CheckedTree
from orchestrator.judge.reports.failure_signature import extract_failure_excerpt
from orchestrator.judge.rules.change_facts import ChangeFacts, NewTestOutcomes
from orchestrator.judge.rules.new_tests import has_behaviour_change, list_new_test_files
from orchestrator.judge.rules.registry import check_change
from orchestrator.judge.selection.selected_runs import ConcernedTests
from orchestrator.judge.support.newcomers import Newcomer
from orchestrator.judge.verdict.decision import VerdictEvidence
from orchestrator.ports.gate import GateResult


@dataclass(frozen=True)
class NewTestsReport:
    """How a candidate's new tests end with and without its code, None if nobody asked; with the receipts behind it."""

    outcomes: NewTestOutcomes | None = None
    receipts: Sequence[check.Receipt] = ()


@dataclass(frozen=True)
class OtherChecks:
    """The checks after a green gate: a task's own (receipt key → how it failed), new tests, rewritten tests."""

    failed: Mapping[str, str] = field(default_factory=dict)
    new_tests: NewTestOutcomes | None = None
    findings: tuple[Finding, ...] = ()
    receipts: tuple[str, ...] = ()


@dataclass(frozen=True)
class CandidateTester:
    """The change of a candidate to be tested. With a `selection` these tests are enough while they are green.

    Then the whole gate runs before it lands; see `orchestrator.engine.judging.union_gate`.
    """

    context: RunContext
    state: TaskState
    number: int
    change: JudgedChange
    selection: ConcernedTests | None = None

    @property
    def _purpose(self) -> Purpose:
        return Purpose.for_attempt(self.state.spec.id, self.number)

    @property
    def _tree(self) -> CheckedTree:
        return CheckedTree(self.change.commit, self.change.tree, self._purpose)

    @cached_property
    def _evolution(self) -> TestEvolution:
        return TestEvolution(self.change.changes.files, self.state.spec.grants)

    async def add_test_evidence(self, evidence: VerdictEvidence) -> VerdictEvidence:
        """Return the evidence with what the tests say of the candidate; the first check that is red ends it."""
        self.context.gate.receipts.record_calls(self.change.tree, list_recorded_modules(self.change.changes.files))
        gate = await self._look_at_tests() or await self._judge_tree()
        difference, keys, is_under_base_tests = await self._add_other_looks(gate)
        others, red = OtherChecks(), keys[-1:]
        if difference.is_green:
            others = await self._run_other_checks(gate)
            red = [*others.failed]
        keys += others.receipts
        findings = await self._find_problems(difference, others)
        if difference.is_green:
            findings += await self._find_trace_findings(keys)
            mutants = await self._find_mutant_findings(findings, others.failed)
            findings, keys = findings + mutants.findings, [*keys, *mutants.receipts]
        list_needed = partial(self._evolution.list_needed_grants, with_failures=is_under_base_tests)
        return evidence.with_changes(
            findings=(*evidence.findings, *findings),
            difference=difference,
            is_provisional=not gate.is_whole and difference.is_green,
            needed_grants=await to_thread.run_sync(list_needed, difference),
            failed_checks=tuple(others.failed.values()),
            receipts=tuple(keys),
            excerpt=await self._read_excerpt(difference, self.context.list_receipts(red)),
        )

    async def _add_other_looks(self, gate: GateResult) -> tuple[check.Difference, list[str], bool]:
        """Return the gate's word with that of the base's tests and of repeated ones, the keys of the receipts, newest
        last, and whether the base's tests were asked.
        """
        difference, keys, is_under_base_tests = gate.difference, [*gate.receipts], False
        if difference.is_green and self._is_told_by_exit_code(gate):
            difference += await self._find_lost_symbols()
        if difference.is_green and (held := await self._judge_with_base_tests(difference, gate)):
            keys += held.receipts
            is_under_base_tests = True
            difference += held.difference
        if difference.is_green:
            repeated = await judge_repeated_tests(self.context, self._tree, self.change.changes, difference)
            difference, keys = repeated.difference, _move_last(keys, repeated.receipts)
        return difference, keys, is_under_base_tests

    async def _run_other_checks(self, gate: GateResult) -> OtherChecks:
        """Return what the task's own checks say, and, if they pass, its new and its rewritten tests."""
        ran, failed = await self._run_own_checks()
        if failed:
            return OtherChecks(failed=failed, receipts=tuple(ran))
        now = await self._load_outcomes(gate)
        new_tests = await self._run_new_tests_on_base(now)
        rewrites = await judge_rewrites(self.context, self.change, self._evolution, self._purpose, now)
        keys = tuple(receipt.key for receipt in (*new_tests.receipts, *rewrites.receipts))
        return OtherChecks({}, new_tests.outcomes, tuple(rewrites.findings), (*ran, *keys))

    async def _find_problems(self, difference: check.Difference, others: OtherChecks) -> tuple[Finding, ...]:
        facts = ChangeFacts(
            grants=self.state.spec.grants,
            difference=difference,
            new_tests=others.new_tests,
            newcomers=await self._find_newcomers(),
        )
        return (*check_change(facts), *others.findings)

    async def _look_at_tests(self) -> GateResult | None:
        """Return the green word of the tests that the change concerns; None if the whole gate has to run."""
        if self.selection is None:
            return None
        return await self.context.gate.selected_tests.look_at_tests(self._tree, self.selection)

    async def _judge_tree(self) -> GateResult:
        reruns = self.context.config.gate.reruns
        return await self.context.gate.judge_tree(*self._tree, reruns=reruns)

    async def _judge_with_base_tests(self, difference: check.Difference, gate: GateResult) -> GateResult | None:
        judge = BaseTestsJudge(self.context, self.change, self.state.spec.grants, self._evolution, self._purpose)
        return await judge.judge_change(difference, selects=not gate.is_whole)

    async def _find_lost_symbols(self) -> check.Difference:
        return check.Difference(missing_tests=await to_thread.run_sync(self._evolution.list_lost_symbols))

    async def _find_trace_findings(self, keys: Sequence[str]) -> tuple[Finding, ...]:
        receipts, grants = self.context.list_receipts(keys), self.state.plan_grants
        return await find_trace_findings(self.context, self.change, grants, receipts, self._purpose)

    async def _find_mutant_findings(self, found: Sequence[Finding], failed: Mapping[str, str]) -> MutantFindings:
        """Return what no test notices of a candidate that nothing so far keeps from reviewers."""
        if failed or any(finding.is_blocking for finding in found):
            return MutantFindings()
        return await find_mutant_findings(self.context, self._tree, self.change.changes)

    async def _find_newcomers(self) -> Mapping[str, Newcomer]:
        return await find_newcomers(self.context, self.change.base, self.change.tree, self.change.changes.files)

    def _is_told_by_exit_code(self, gate: GateResult) -> bool:
        """Return True if a check of the gate names no tests, so that none could be missed."""
        return any(receipt.tests is None for receipt in self.context.list_receipts(gate.receipts))

    async def _load_outcomes(self, gate: GateResult) -> check.Outcomes | None:
        """Return the outcomes of a green gate's runs; None where a check tells only its exit code."""
        if self._is_told_by_exit_code(gate):
            return None
        known: dict[str, check.TestOutcome] = {}
        for receipt in self.context.list_receipts(gate.receipts):
            known |= await self.context.gate.receipts.load_outcomes(receipt) or {}
        return known

    async def _run_own_checks(self) -> tuple[list[str], dict[str, str]]:
        """Run the task's own checks; return the keys of their receipts, and how those failed that did."""
        ran: list[str] = []
        failed: dict[str, str] = {}
        for number, command in enumerate(self.state.spec.checks, start=1):
            spec = check.CheckSpec(id=f"task-{number}", run=command, report=check.ReportFormat.EXIT_CODE, timeout_s=600)
            receipt = await self.context.gate.run_extra_check(spec, *self._tree)
            ran.append(receipt.key)
            if receipt.exit_code != 0:
                how = describe_broken_run(spec, receipt) or f"exits {receipt.exit_code}"
                failed[receipt.key] = f"`{command}` {how}"
        return ran, failed

    async def _read_excerpt(self, difference: check.Difference, red: Sequence[check.Receipt]) -> str:
        """Return what the first receipt that speaks against the candidate holds of it."""
        if not red:
            return ""
        output = await self.context.journal.read_text(red[0].output)
        tests = (*difference.new_failures, *difference.unsettled, *difference.missing_tests)
        return extract_failure_excerpt(output, tests)

    async def _run_new_tests_on_base(self, now: check.Outcomes | None) -> NewTestsReport:
        """Run the tests that the candidate adds on its base, without its code; only where it changes both."""
        mode, files, base = self.context.config.gate.new_tests, self.change.changes.files, self.change.base
        is_granted = build_grant_matcher(self.state.spec.grants, (GrantIntent.REWRITE,))
        paths = () if mode == "off" else list_new_test_files(files, is_granted)
        if now is None or not paths or not await to_thread.run_sync(has_behaviour_change, files):
            return NewTestsReport()
        gate, base_tree = self.context.gate, await self.context.read_tree_id(base)
        before = await gate.collect_outcomes(base, base_tree, self._purpose.with_detail("its base"))
        if before is None or not now.keys() - before.keys():
            return NewTestsReport()
        purpose = self._purpose.with_detail("new tests on its base")
        candidate = self.change.commit
        mixed = await run_mixed_tests(self.context, base, candidate, paths, check.NEW_TESTS_CHECK, purpose)
        if mixed is None:
            return NewTestsReport()
        receipts, without_change = mixed
        return NewTestsReport(NewTestOutcomes(before, now, without_change, mode == "red", paths), receipts)


def _move_last(keys: Sequence[str], newer: Sequence[str]) -> list[str]:
    """Return all keys, those that are newer at the end."""
    return [*(key for key in keys if key not in newer), *newer]
