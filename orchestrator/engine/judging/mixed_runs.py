"""Runs of the gate on one side of a change with tests of the other."""

from collections.abc import Sequence

from orchestrator.domain.ids import CommitId
from orchestrator.domain.judging.check import Outcomes, Receipt
from orchestrator.domain.purpose import Purpose
from orchestrator.engine.context import RunContext
from orchestrator.engine.judging.candidate_changes import create_restored_commit
from orchestrator.engine.judging.test_selection import select_test_files
from orchestrator.judge.gate.check_runner import CheckedTree

_MESSAGE = "One side of a change under the tests of the other"


async def run_mixed_tests(
    context: RunContext, commit: CommitId, source: CommitId, paths: Sequence[str], check_id: str, purpose: Purpose
) -> tuple[Sequence[Receipt], Outcomes] | None:
    """Return the outcomes on a commit with `paths` as another one has them; None if that is the commit itself.

    Only these files run where the gate can be told so, else all tests.

    Raises:
        EnvironmentProblem: a check could not be started.
    """
    gate = context.gate
    mixed = await create_restored_commit(context.repository.git, commit, source, paths, context.commit_date, _MESSAGE)
    if mixed is None:
        return None
    tree = CheckedTree(mixed.commit, mixed.tree, purpose)
    selection = await select_test_files(context, mixed.commit, paths)
    if selection is not None and (found := await gate.selected_tests.collect_outcomes(tree, selection, check_id)):
        return found.receipts, found.outcomes
    return await gate.receipts.run_under_id(gate.checks, check_id, tree)
