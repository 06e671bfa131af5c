"""`migrate check`: compare the sites of a commit with what is allowed, in the user's repository."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from anyio import to_thread

from orchestrator.discovery.migration_events import open_workspace_at
from orchestrator.domain.ids import CommitId
from orchestrator.domain.recipe.model import Recipe
from orchestrator.errors import UsageProblem
from orchestrator.migrate.site_check import SiteCheckResult, SiteCount, check_site_limits, count_sites
from orchestrator.migrate.sites.finder import find_sites, needs_workspace
from orchestrator.project.options import Options, load_project_context, open_repository
from orchestrator.project.scratch_directory import create_scratch_directory
from orchestrator.provisioning.dependencies import DEPS_DIRECTORY
from worktrees.repositories.repository import GitRepository
from worktrees.safety.path_rules import escape_path

_ALL = 10**9


@dataclass(frozen=True)
class SiteCheckRequest:
    """A request to count `ref` (empty: what is checked out) and to compare it with `since`, if given.

    `most` bounds all sites together; without it each kind of site has its own target.
    """

    recipe: Recipe
    ref: str = ""
    since: str = ""
    most: int | None = None


async def check_sites(options: Options, request: SiteCheckRequest) -> SiteCheckResult:
    """Count sites, and compare. Only commits are read, never uncommitted files of the checkout.

    Where sites are found by commands or ast-grep, they run in the sandbox in a scratch directory, which is removed.

    Raises:
        UsageProblem: there is no repository, a commit does not exist, the recipe counts no sites.
        EnvironmentProblem: finding sites takes a sandbox or a program that this host does not have.
    """
    recipe = request.recipe
    if not recipe.work_scope.site:
        problem = "the recipe counts no sites: add a [[scope.site]] with an id and a pattern to check it"
        raise UsageProblem(problem, ("scope",))
    repository = await to_thread.run_sync(open_repository, options.repository)
    names = [request.ref or "HEAD"]
    if request.since:
        names.append(request.since)
    commits = [await to_thread.run_sync(_resolve_commit, repository, name) for name in names]
    count, *earlier_counts = [count async for count in _count_commits(options, recipe, repository, commits)]
    return check_site_limits(recipe, count, request.most, *earlier_counts)


async def _count_commits(
    options: Options, recipe: Recipe, repository: GitRepository, commits: Sequence[CommitId]
) -> AsyncIterator[SiteCount]:
    if not needs_workspace(recipe.work_scope):
        for commit in commits:
            yield await count_sites(repository.git, commit, recipe.work_scope)
        return
    project = await to_thread.run_sync(load_project_context, options)
    with create_scratch_directory(repository, project.state, keep=False) as scratch:
        scratch_project = replace(project, repository=scratch.repository, state=scratch.state)
        for commit in commits:
            store = project.state.path / DEPS_DIRECTORY
            async with open_workspace_at(scratch_project, recipe, commit, store) as workspace:
                find = partial(find_sites, workspace=workspace)
                yield await count_sites(repository.git, commit, recipe.work_scope, find, at_once=_ALL)


def _resolve_commit(repository: GitRepository, name: str) -> CommitId:
    arguments = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    found = repository.checkout_git.run_sync(*arguments, ok=(0, 1, 128))
    if found.exit_code:
        problem = f"there is no commit {escape_path(name)} in {repository.root}; a shallow clone lacks old ones"
        raise UsageProblem(f"{problem}: fetch more of the history (in GitHub's checkout action: fetch-depth: 0)")
    return CommitId(found.text)
