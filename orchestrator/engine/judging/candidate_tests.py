"""Testing a candidate: the gate on its tree, the tests of its base on its code, the task's own checks."""

from collections.abc import Sequence
from dataclasses import dataclass

from anyio import to_thread

from orchestrator.domain.event.work import CandidateTaken
from orchestrator.domain.judging.check import (
    CANARY_CHECK,
    NEW_TESTS_CHECK,
    CheckSpec,
    Difference,
    Receipt,
    ReportFormat,
)
from orchestrator.domain.run.purpose import Purpose
from orchestrator.domain.run.state import TaskState
from orchestrator.engine.context import RunContext
from orchestrator.engine.judging.candidate_changes import CandidateChanges, create_restored_commit
from orchestrator.judge.files.grants import build_grant_matcher
from orchestrator.judge.gate.baseline import describe_broken_run
from orchestrator.judge.reports.failure_signature import extract_failure_excerpt
from orchestrator.judge.rules.change_facts import ChangeFacts, NewTestOutcomes
from orchestrator.judge.rules.new_tests import has_behaviour_change, list_new_test_files
from orchestrator.judge.rules.protected_files import list_held_back_tests
from orchestrator.judge.rules.registry import check_change
from orchestrator.judge.verdict.decision import VerdictEvidence
from orchestrator.ports.gate import GateResult

_UNDER_THE_BASE_TESTS = Difference(
    problems=("that is how the tests of the base judge the change, without its own changes to tests",)
)


@dataclass(frozen=True)
class NewTestsReport:
    """How a candidate's new tests end with and without its code, None if nobody asked; with the receipts behind it."""

    outcomes: NewTestOutcomes | None = None
    receipts: Sequence[Receipt] = ()


async def collect_test_evidence(
    context: RunContext,
    state: TaskState,
    candidate: CandidateTaken,
    changes: CandidateChanges,
    evidence: VerdictEvidence,
) -> VerdictEvidence:
    """Return the evidence with what the tests say of a candidate; the first check that is red ends it."""
    purpose = Purpose.for_attempt(state.spec.id, candidate.number)
    gate = await context.gate.judge_tree(candidate.commit, candidate.tree, purpose, reruns=context.config.gate.reruns)
    keys, difference = [*gate.receipts], gate.difference
    if difference.is_green and (canaries := await run_canaries(context, candidate, purpose)):
        keys += canaries.receipts
        difference += canaries.difference
    if difference.is_green and (held := await _judge_with_base_tests(context, state, candidate, changes, purpose)):
        keys += held.receipts
        difference += _compare_with_base_tests(difference, held.difference)
    failed: dict[str, str] = {}
    new_tests = NewTestsReport()
    red = keys[-1:]
    if difference.is_green:
        ran, failed = await _run_own_checks(context, state, candidate, purpose)
        keys, red = [*keys, *ran], [*failed]
        if not failed:
            new_tests = await run_new_tests_on_base(context, state, candidate, changes, purpose)
            keys += [receipt.key for receipt in new_tests.receipts]
    found = check_change(ChangeFacts(difference=difference, new_tests=new_tests.outcomes))
    return evidence.with_changes(
        findings=(*evidence.findings, *found),
        difference=difference,
        failed_checks=tuple(failed.values()),
        receipts=tuple(keys),
        excerpt=await _read_excerpt(context, difference, context.list_receipts(red)),
    )


async def _judge_with_base_tests(
    context: RunContext, state: TaskState, candidate: CandidateTaken, changes: CandidateChanges, purpose: Purpose
) -> GateResult | None:
    """Return the gate's word on the candidate's code under the tests of its base; None if it left those alone."""
    paths = list_held_back_tests(changes.files, build_grant_matcher(state.spec.grants))
    git, base = context.repository.git, state.attempts[-1].base
    message = "The candidate's code under the tests of its base"
    held = await create_restored_commit(git, candidate.commit, base, paths, context.commit_date, message)
    if held is None:
        return None
    purpose, reruns = purpose.with_detail("tests as on its base"), context.config.gate.reruns
    return await context.gate.judge_tree(held.commit, held.tree, purpose, reruns=reruns)


def _compare_with_base_tests(difference: Difference, held: Difference) -> Difference:
    """Return what the base's tests say against a change that is green with its own changes to tests."""
    if held.is_unsettled:
        return held
    if not held.is_green:
        return held + _UNDER_THE_BASE_TESTS
    if lent := sorted(set(difference.fixed) - set(held.fixed)):
        return Difference(problems=(f"pass only together with the change's own tests: {', '.join(lent[:12])}",))
    return Difference(flaky=held.flaky)


async def _run_own_checks(
    context: RunContext, state: TaskState, candidate: CandidateTaken, purpose: Purpose
) -> tuple[list[str], dict[str, str]]:
    """Run the task's own checks; return the keys of their receipts, and how those failed that did."""
    ran: list[str] = []
    failed: dict[str, str] = {}
    for number, command in enumerate(state.spec.checks, start=1):
        spec = CheckSpec(id=f"task-{number}", run=command, report=ReportFormat.EXIT_CODE, timeout_s=600)
        receipt = await context.gate.run_extra_check(spec, candidate.commit, candidate.tree, purpose)
        ran.append(receipt.key)
        if receipt.exit_code != 0:
            failed[receipt.key] = f"`{command}` {describe_broken_run(spec, receipt) or f'exits {receipt.exit_code}'}"
    return ran, failed


async def _read_excerpt(context: RunContext, difference: Difference, red: Sequence[Receipt]) -> str:
    """Return what the first receipt that speaks against the candidate holds of it."""
    if not red or red[0].kind == CANARY_CHECK:
        return ""
    output = await context.journal.read_text(red[0].output)
    return extract_failure_excerpt(output, (*difference.new_failures, *difference.unsettled, *difference.missing_tests))


async def run_canaries(context: RunContext, candidate: CandidateTaken, purpose: Purpose) -> GateResult | None:
    """Return what canaries say of a candidate's tree; None where there are none."""
    if context.canaries is None or not context.config.gate.canaries:
        return None
    return await context.canaries.check_tree(candidate.commit, candidate.tree, purpose)


async def run_new_tests_on_base(
    context: RunContext, state: TaskState, candidate: CandidateTaken, changes: CandidateChanges, purpose: Purpose
) -> NewTestsReport:
    """Run the tests that a candidate adds on its base, without its code; only where it changes both."""
    mode = context.config.gate.new_tests
    paths = () if mode == "off" else list_new_test_files(changes.files, build_grant_matcher(state.spec.grants))
    if not paths or not await to_thread.run_sync(has_behaviour_change, changes.files):
        return NewTestsReport()
    gate, base = context.gate, state.attempts[-1].base
    before = await gate.collect_outcomes(base, await context.read_tree_id(base), purpose.with_detail("its base"))
    now = await gate.collect_outcomes(candidate.commit, candidate.tree, purpose)
    if before is None or now is None or not now.keys() - before.keys():
        return NewTestsReport()
    message = "The base under the new tests of the candidate"
    mixed = await create_restored_commit(
        context.repository.git, base, candidate.commit, paths, context.commit_date, message
    )
    if mixed is None:
        return NewTestsReport()
    receipts, without_change = await gate.run_checks_under_id(
        NEW_TESTS_CHECK, mixed.commit, mixed.tree, purpose.with_detail("new tests on its base")
    )
    return NewTestsReport(NewTestOutcomes(before, now, without_change, is_strict=mode == "red"), receipts)
