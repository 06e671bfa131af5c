"""The branch that a pull request is meant for: looked up before anything is spent."""

from collections.abc import Collection

import anyio

from orchestrator.config.model import Config
from orchestrator.domain.text.listing import join_limited
from orchestrator.domain.text.suggestions import suggest_names
from orchestrator.errors import UsageProblem
from worktrees.errors import GitError
from worktrees.ref_store.refs import list_refs
from worktrees.ref_store.remote_refs import list_remote_refs
from worktrees.repositories.repository import GitRepository

_HEADS = "refs/heads/"
_REMOTES = "refs/remotes/"
_ANSWER_S = 20.0
_SHOWN = 5


async def require_target_branch(repository: GitRepository, config: Config) -> None:
    """Make sure, before a model is called, that the branch under [pr] target exists where it is to be merged.

    That is the remote under [pr] push; without one, this clone. A remote that does not answer is not waited for: what
    the clone knows of it decides then.

    Raises:
        UsageProblem: there is no such branch; names those that may be meant.
    """
    target = config.pr.target
    if not target:
        return
    place, branches = await _list_branches(repository, config.pr.push, target)
    if target not in branches and not _is_incomplete(repository, config.pr.push):
        raise UsageProblem(
            f"the pull request is meant for the branch {target}, which does not exist {place}: "
            f"{_suggest_branches(target, branches)} Name one with --target BRANCH, or with target under [pr]"
        )


async def _list_branches(repository: GitRepository, push: str, target: str) -> tuple[str, Collection[str]]:
    """Return the place where the target has to be, in words, and the branches there."""
    if push:
        try:
            with anyio.fail_after(_ANSWER_S):
                return f"on {push}", await _list_remote_branches(repository, push, target)
        except (GitError, TimeoutError):
            return f"in {repository.root}, and {push} does not answer", await _list_local_branches(repository)
    return f"in {repository.root}", await _list_local_branches(repository)


async def _list_remote_branches(repository: GitRepository, push: str, target: str) -> Collection[str]:
    """Return the branches of a remote; the target alone if it is one, which large remotes answer sooner."""
    found = await list_remote_refs(repository.git, push, _HEADS + target)
    if _HEADS + target not in found:
        found = await list_remote_refs(repository.git, push, f"{_HEADS}*")
    return {ref.removeprefix(_HEADS) for ref in found}


async def _list_local_branches(repository: GitRepository) -> Collection[str]:
    """Return the branches of the clone, and those of its remotes when they were last fetched."""
    branches = {ref.removeprefix(_HEADS) for ref in await list_refs(repository.git, _HEADS)}
    for ref in await list_refs(repository.git, _REMOTES):
        branches.add(ref.removeprefix(_REMOTES).partition("/")[2])
    return branches - {"HEAD"}


def _is_incomplete(repository: GitRepository, push: str) -> bool:
    """Return True if the clone knows a part of its remote's branches only, as clones of CI jobs do."""
    return not push and (repository.common_dir / "shallow").exists()


def _suggest_branches(target: str, branches: Collection[str]) -> str:
    """Return the end of a sentence that leads to an existing branch."""
    there_are = f"there are {join_limited(sorted(branches), _SHOWN)}." if branches else "there is no branch yet."
    return suggest_names(target, sorted(branches), there_are)
