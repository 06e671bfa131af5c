"""Runs of a criterion's command on a commit, with the files of tests that the criterion brings along."""

from orchestrator.domain.ids import CommitId
from orchestrator.domain.judging.check import CheckSpec, Receipt, ReportFormat
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.run.contract import Criterion
from orchestrator.engine.context import RunContext
from orchestrator.engine.verification.test_runs import VerifierTestRunner


async def run_criterion_command(
    context: RunContext, criterion: Criterion, commit: CommitId, purpose: Purpose
) -> Receipt:
    """Return the receipt of a criterion's command; its files stand in the tree that it runs on, and in no other.

    Raises:
        EnvironmentProblem: it could not be started.
        ValueError: the criterion has no command.
    """
    if not criterion.command:
        raise ValueError(f"the criterion {criterion.id} has no command")
    spec = CheckSpec(
        id=criterion.check,
        run=criterion.command,
        report=ReportFormat.EXIT_CODE,
        timeout_s=context.config.gate.timeout_s,
    )
    tree = await context.read_tree_id(commit)
    if criterion.files:
        commit, tree = await VerifierTestRunner(context).create_commit(commit, criterion.files)
    return await context.gate.run_extra_check(spec, commit, tree, purpose)
