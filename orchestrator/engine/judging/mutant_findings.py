"""Findings on a green candidate's mutants: places of it that the tests say nothing of."""

from typing import NamedTuple

from anyio import to_thread

from orchestrator.domain.judging.verdict import Finding, RuleId
from orchestrator.engine.context import RunContext
from orchestrator.engine.judging.candidate_changes import CandidateChanges
from orchestrator.judge.gate.check_runner import CheckedTree
from orchestrator.judge.mutation.mutant import Mutant
from orchestrator.judge.rules.change_facts import ChangeFacts
from orchestrator.judge.rules.registry import list_findings


class MutantFindings(NamedTuple):
    """The findings on mutants that no test noticed, and the keys of the receipts behind them."""

    findings: tuple[Finding, ...] = ()
    receipts: tuple[str, ...] = ()


async def find_mutant_findings(
    context: RunContext, candidate: CheckedTree, changes: CandidateChanges
) -> MutantFindings:
    """Return what the tests do not notice when places of a green candidate are altered one at a time.

    Raises:
        EnvironmentProblem: no workspace or sandbox could be had.
    """
    limit = context.config.gate.mutants
    if context.mutants is None or not limit:
        return MutantFindings()
    mutants = await to_thread.run_sync(_choose_mutants, changes, limit)
    tree = candidate._replace(purpose=candidate.purpose.with_detail("mutants"))
    report = await context.mutants.find_survivors(tree, mutants)
    findings = tuple(list_findings(RuleId.SURVIVOR, ChangeFacts(survivors=report.survivors)))
    return MutantFindings(findings, tuple(receipt.key for receipt in report.receipts))


def _choose_mutants(changes: CandidateChanges, limit: int) -> tuple[Mutant, ...]:
    """Return the mutants of a change; what makes them takes a while to load, so only where Python changed. Blocks."""
    if not any(line.path.endswith(".py") for line in changes.lines):
        return ()
    from orchestrator.judge.mutation.choice import choose_mutants

    return choose_mutants(changes.files, changes.lines, limit)
