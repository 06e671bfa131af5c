"""Names of commits as people and agents write them: the commit that one means, if there is one."""

import re

from worktrees.errors import GitError
from worktrees.git import Git
from worktrees.object_store.merge import is_ancestor

_HEX = re.compile(r"[0-9a-f]{7,64}")


async def find_commit(git: Git, name: str) -> str | None:
    """Return the whole id of the commit that an id, or the beginning of one, names; None if there is none."""
    if _HEX.fullmatch(name) is None:
        return None
    told = await git.run("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}", ok=(0, 1, 128))
    if told.exit_code != 0:
        return None
    return told.stdout.decode().strip()


async def find_reachable_commit(git: Git, name: str, head: str) -> str | None:
    """Return as `find_commit` does, but only a commit that `head` holds in its history."""
    commit = await find_commit(git, name)
    if commit is None:
        return None
    try:
        is_held = await is_ancestor(git, commit, head)
    except GitError:
        return None
    return commit if is_held else None
