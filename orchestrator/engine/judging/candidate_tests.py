"""Testing a candidate: the gate on its tree, the tests of its base on its code, the task's own checks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

from anyio import to_thread

from orchestrator.domain.event.work import CandidateTaken
from orchestrator.domain.ids import CommitId, Purpose, TreeId
from orchestrator.domain.judging import check
from orchestrator.domain.judging.verdict import Finding
from orchestrator.domain.run.grant import GrantIntent
from orchestrator.domain.run.state import TaskState
from orchestrator.engine.context import RunContext
from orchestrator.engine.judging.candidate_changes import CandidateChanges, RestoredCommit, create_restored_commit
from orchestrator.engine.judging.mutant_findings import MutantFindings, find_mutant_findings
from orchestrator.engine.judging.repeated_tests import judge_repeated_tests
from orchestrator.engine.judging.rewritten_tests import RewriteReport, judge_rewrites
from orchestrator.engine.judging.support_files import find_newcomers
from orchestrator.engine.judging.trace_findings import find_trace_findings
from orchestrator.judge.behaviour.replaying import list_recorded_modules
from orchestrator.judge.evolution.test_evolution import TestEvolution
from orchestrator.judge.files.grants import build_grant_matcher
from orchestrator.judge.gate.baseline import describe_broken_run
from orchestrator.judge.gate.changed_test_ids import exclude_lost_tests, find_excused_tests
from orchestrator.judge.gate.check_runner import CheckedTree
from orchestrator.judge.reports.failure_signature import extract_failure_excerpt
from orchestrator.judge.rules.change_facts import ChangeFacts, NewTestOutcomes
from orchestrator.judge.rules.held_back_tests import list_held_back_tests
from orchestrator.judge.rules.new_tests import has_behaviour_change, list_new_test_files
from orchestrator.judge.rules.registry import check_change
from orchestrator.judge.support.newcomers import Newcomer
from orchestrator.judge.verdict.decision import VerdictEvidence
from orchestrator.ports.gate import GateResult

_HOW_BASE_TESTS_JUDGE = "that is how the tests of the base judge the change, without its own changes to tests"


@dataclass(frozen=True)
class NewTestsReport:
    """How a candidate's new tests end with and without its code, None if nobody asked; with the receipts behind it."""

    outcomes: NewTestOutcomes | None = None
    receipts: Sequence[check.Receipt] = ()


@dataclass(frozen=True)
class CandidateTester:
    """A candidate to be tested, with its changes against the base of its attempt."""

    context: RunContext
    state: TaskState
    candidate: CandidateTaken
    changes: CandidateChanges

    @property
    def _base(self) -> CommitId:
        return self.state.attempts[-1].base

    @property
    def _purpose(self) -> Purpose:
        return Purpose.for_attempt(self.state.spec.id, self.candidate.number)

    @property
    def _tree(self) -> CheckedTree:
        return CheckedTree(self.candidate.commit, self.candidate.tree, self._purpose)

    @cached_property
    def _evolution(self) -> TestEvolution:
        return TestEvolution(self.changes.files, self.state.spec.grants)

    async def add_test_evidence(self, evidence: VerdictEvidence) -> VerdictEvidence:
        """Return the evidence with what the tests say of the candidate; the first check that is red ends it."""
        self.context.gate.receipts.record_calls(self.candidate.tree, list_recorded_modules(self.changes.files))
        gate = await self._judge_tree(self.candidate.commit, self.candidate.tree, self._purpose)
        keys, difference = [*gate.receipts], gate.difference
        if difference.is_green and self._is_told_by_exit_code(gate):
            difference += await self._find_lost_symbols()
        is_under_base_tests = False
        if difference.is_green and (held := await self._judge_with_base_tests()):
            keys += held.receipts
            is_under_base_tests = True
            difference += await self._compare_with_base_tests(difference, held.difference)
        if difference.is_green:
            repeated = await judge_repeated_tests(self.context, self.candidate, self.changes, self._purpose, difference)
            difference, keys = repeated.difference, _move_last(keys, repeated.receipts)
        failed: dict[str, str] = {}
        new_tests, rewrites = NewTestsReport(), RewriteReport()
        red = keys[-1:]
        if difference.is_green:
            ran, failed = await self._run_own_checks()
            keys, red = [*keys, *ran], [*failed]
            if not failed:
                new_tests = await self._run_new_tests_on_base()
                rewrites = await self._judge_rewrites()
                keys += [receipt.key for receipt in (*new_tests.receipts, *rewrites.receipts)]
        list_needed = partial(self._evolution.list_needed_grants, with_failures=is_under_base_tests)
        facts = ChangeFacts(grants=self.state.spec.grants, difference=difference, new_tests=new_tests.outcomes)
        found = (*check_change(replace(facts, newcomers=await self._find_newcomers())), *rewrites.findings)
        if difference.is_green:
            found += await self._find_trace_findings(keys)
            mutants = await self._find_mutant_findings(found, failed)
            found, keys = found + mutants.findings, [*keys, *mutants.receipts]
        return evidence.with_changes(
            findings=(*evidence.findings, *found),
            difference=difference,
            needed_grants=await to_thread.run_sync(list_needed, difference),
            failed_checks=tuple(failed.values()),
            receipts=tuple(keys),
            excerpt=await self._read_excerpt(difference, self.context.list_receipts(red)),
        )

    async def _judge_tree(self, commit: CommitId, tree: TreeId, purpose: Purpose) -> GateResult:
        return await self.context.gate.judge_tree(commit, tree, purpose, reruns=self.context.config.gate.reruns)

    async def _find_lost_symbols(self) -> check.Difference:
        return check.Difference(missing_tests=await to_thread.run_sync(self._evolution.list_lost_symbols))

    async def _find_trace_findings(self, keys: Sequence[str]) -> tuple[Finding, ...]:
        receipts, grants = self.context.list_receipts(keys), self.state.plan_grants
        return await find_trace_findings(self.context, self._tree, self._base, self.changes, grants, receipts)

    async def _find_mutant_findings(self, found: Sequence[Finding], failed: Mapping[str, str]) -> MutantFindings:
        """Return what no test notices of a candidate that nothing so far keeps from reviewers."""
        if failed or any(finding.is_blocking for finding in found):
            return MutantFindings()
        return await find_mutant_findings(self.context, self._tree, self.changes)

    async def _judge_rewrites(self) -> RewriteReport:
        return await judge_rewrites(self.context, self._base, self.candidate, self._evolution, self._purpose)

    def _is_told_by_exit_code(self, gate: GateResult) -> bool:
        """Return True if a check of the gate names no tests, so that none could be missed."""
        return any(receipt.tests is None for receipt in self.context.list_receipts(gate.receipts))

    async def _judge_with_base_tests(self) -> GateResult | None:
        """Return the gate's word on the candidate's code under the tests of its base; None if it left those alone."""
        changes, grants = self.changes, self.state.spec.grants
        facts = ChangeFacts(files=changes.files, grants=grants, support=changes.reading.support)
        paths = await to_thread.run_sync(list_held_back_tests, facts)
        message = "The candidate's code under the tests of its base"
        held = await self._restore_files(self.candidate.commit, self._base, paths, message)
        if held is None:
            return None
        return await self._judge_tree(held.commit, held.tree, self._purpose.with_detail("tests as on its base"))

    async def _compare_with_base_tests(self, difference: check.Difference, held: check.Difference) -> check.Difference:
        """Return what the base's tests say against a change that is green with its own changes to tests."""
        excused = frozenset[str]()
        if tests := (*difference.fixed, *held.lost_tests):
            base_tree, purpose = await self.context.read_tree_id(self._base), self._purpose.with_detail("its base")
            before = await self.context.gate.collect_outcomes(self._base, base_tree, purpose)
            excused = find_excused_tests(tests, self._evolution, before or ())
        held = exclude_lost_tests(held, excused)
        if held.is_unsettled:
            return held
        if not held.is_green:
            return held + check.Difference(problems=(_HOW_BASE_TESTS_JUDGE,))
        if lent := sorted(set(difference.fixed) - set(held.fixed) - excused):
            text = f"pass only together with the change's own tests: {', '.join(lent[:12])}"
            return check.Difference(problems=(text,))
        return check.Difference(flaky=held.flaky)

    async def _restore_files(
        self, commit: CommitId, source: CommitId, paths: Sequence[str], message: str
    ) -> RestoredCommit | None:
        git, when = self.context.repository.git, self.context.commit_date
        return await create_restored_commit(git, commit, source, paths, when, message)

    async def _find_newcomers(self) -> Mapping[str, Newcomer]:
        return await find_newcomers(self.context, self._base, self.candidate.tree, self.changes.files)

    async def _run_own_checks(self) -> tuple[list[str], dict[str, str]]:
        """Run the task's own checks; return the keys of their receipts, and how those failed that did."""
        ran: list[str] = []
        failed: dict[str, str] = {}
        commit, tree = self.candidate.commit, self.candidate.tree
        for number, command in enumerate(self.state.spec.checks, start=1):
            spec = check.CheckSpec(id=f"task-{number}", run=command, report=check.ReportFormat.EXIT_CODE, timeout_s=600)
            receipt = await self.context.gate.run_extra_check(spec, commit, tree, self._purpose)
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

    async def _run_new_tests_on_base(self) -> NewTestsReport:
        """Run the tests that the candidate adds on its base, without its code; only where it changes both."""
        mode, files, base = self.context.config.gate.new_tests, self.changes.files, self._base
        is_granted = build_grant_matcher(self.state.spec.grants, (GrantIntent.REWRITE,))
        paths = () if mode == "off" else list_new_test_files(files, is_granted)
        if not paths or not await to_thread.run_sync(has_behaviour_change, files):
            return NewTestsReport()
        gate, base_tree = self.context.gate, await self.context.read_tree_id(base)
        before = await gate.collect_outcomes(base, base_tree, self._purpose.with_detail("its base"))
        now = await gate.collect_outcomes(self.candidate.commit, self.candidate.tree, self._purpose)
        if before is None or now is None or not now.keys() - before.keys():
            return NewTestsReport()
        message = "The base under the new tests of the candidate"
        mixed = await self._restore_files(base, self.candidate.commit, paths, message)
        if mixed is None:
            return NewTestsReport()
        purpose = self._purpose.with_detail("new tests on its base")
        tree = CheckedTree(mixed.commit, mixed.tree, purpose)
        receipts, without_change = await gate.receipts.run_under_id(gate.checks, check.NEW_TESTS_CHECK, tree)
        return NewTestsReport(NewTestOutcomes(before, now, without_change, mode == "red", paths), receipts)


def _move_last(keys: Sequence[str], newer: Sequence[str]) -> list[str]:
    """Return all keys, those that are newer at the end."""
    return [*(key for key in keys if key not in newer), *newer]
