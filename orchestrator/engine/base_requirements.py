"""Check that a run can begin on a commit of a repository."""

import shlex

from orchestrator.errors import UsageProblem
from worktrees.object_store.completeness import count_missing_objects
from worktrees.ref_store.refs import list_refs
from worktrees.repositories.repository import GitRepository


async def require_free_name(repository: GitRepository, branch: str) -> None:
    """Make sure that the branch can exist: git cannot keep `a/b` beside a branch `a`.

    Raises:
        UsageProblem: it cannot; names the branch in its way.
    """
    refs = await list_refs(repository.git, "refs/heads/")
    parts = branch.split("/")
    for length in range(1, len(parts) + 1):
        taken = "/".join(parts[:length])
        if f"refs/heads/{taken}" in refs:
            raise UsageProblem(
                f"the PR branch {branch} cannot be made beside your branch {taken}: rename that one, "
                "or choose another [pr] prefix"
            )


async def require_all_objects(repository: GitRepository, base: str) -> None:
    """Make sure that the clone has every file of the base: nothing is fetched while a run goes on.

    Raises:
        UsageProblem: it is a partial clone; says how to fetch the rest.
    """
    missing = await count_missing_objects(repository.git, base)
    if missing:
        raise UsageProblem(
            f"{repository.root} is a partial clone (git clone --filter), which lacks {missing} objects of commit "
            f"{base[:12]}, and nothing is fetched while a run goes on. Fetch them first: "
            f"git -C {shlex.quote(str(repository.root))} fetch --refetch --no-filter"
        )
