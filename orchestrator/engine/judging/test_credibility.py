"""The credibility of a candidate's tests, and whether its new tests show anything of the change."""

from collections.abc import Sequence
from dataclasses import dataclass

from anyio import to_thread

from orchestrator.domain.event.work import CandidateTaken
from orchestrator.domain.judging.check import NEW_TESTS_CHECK, Receipt
from orchestrator.domain.run.purpose import Purpose
from orchestrator.domain.run.state import TaskState
from orchestrator.engine.context import RunContext
from orchestrator.engine.judging.candidate_changes import CandidateChanges, create_restored_commit
from orchestrator.judge.files.grants import build_grant_matcher
from orchestrator.judge.rules.change_facts import NewTestOutcomes
from orchestrator.judge.rules.new_tests import has_behaviour_change, list_new_test_files
from orchestrator.ports.gate import GateResult


async def run_canaries(context: RunContext, candidate: CandidateTaken, purpose: Purpose) -> GateResult | None:
    """Return what canaries say of a candidate's tree; None where there are none."""
    if context.canaries is None or not context.config.gate.canaries:
        return None
    return await context.canaries.check_tree(candidate.commit, candidate.tree, purpose)


@dataclass(frozen=True)
class NewTestsReport:
    """How a candidate's new tests end with and without its code, None if nobody asked; with the receipts behind it."""

    outcomes: NewTestOutcomes | None = None
    receipts: Sequence[Receipt] = ()


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
