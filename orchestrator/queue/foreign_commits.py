"""Commits that somebody else put on the PR branch: work goes on on top of them, but only while the gate is green."""

from orchestrator.domain.ids import CommitId, TreeId
from orchestrator.domain.judging.check import Difference
from orchestrator.domain.run.purpose import Purpose
from orchestrator.domain.text.listing import join_limited
from orchestrator.errors import PersonNeeded
from orchestrator.ports.gate import Gate
from orchestrator.queue.pr_branch import PrBranch
from worktrees.object_store.trees import read_tree_id

_NAMED = 3


async def require_green_tip(gate: Gate, branch: PrBranch, commit: CommitId) -> None:
    """Judge a tip of the branch that the run did not land; a red one gets a second look.

    Raises:
        PersonNeeded: it is red, and whatever is built on it would be blamed for that.
    """
    tree = TreeId(await read_tree_id(branch.repository.git, commit))
    purpose = Purpose(f"what stands on {branch.name}")
    for is_second_look in (False, True):
        result = await gate.judge_tree(commit, tree, purpose, fresh=is_second_look)
        if result.difference.is_green:
            return
    red = _describe(result.difference)
    raise PersonNeeded(
        f"the PR branch {branch.name} was moved to {commit[:12]}, which is red ({red}): mend it there, or take it back "
        "to what landed, then resume the run"
    )


def _describe(red: Difference) -> str:
    names = (*red.new_failures, *red.unsettled, *red.missing_tests, *red.newly_skipped)
    return join_limited(names, _NAMED) or "; ".join(red.problems)
