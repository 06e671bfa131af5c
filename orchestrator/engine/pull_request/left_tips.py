"""Find the tip of a remote's branch that may be replaced: one that a restart left and a ref of the run keeps."""

from orchestrator.domain.run.state import RunState
from worktrees.git import Git
from worktrees.object_store.merge import is_ancestor
from worktrees.object_store.packs import find_existing_objects


async def is_left_tip(git: Git, state: RunState, branch: str, tip: str, head: str) -> bool:
    """Return True if a push of `head` may replace `tip` of the remote's branch, because a restart left it.

    That is so only if the run keeps everything that the remote's branch holds.
    """
    if branch != state.run.branch or not await find_existing_objects(git, [tip]):
        return False
    if await is_ancestor(git, tip, head):
        return False
    for line in state.goal.left_lines:
        if await is_ancestor(git, tip, line.tip):
            return True
    return False
