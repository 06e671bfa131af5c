"""`migrate check`: the sites of a commit against what is allowed, in the user's repository."""

from dataclasses import dataclass
from pathlib import Path

from anyio import to_thread

from orchestrator.app.options import open_repository
from orchestrator.domain.ids import CommitId
from orchestrator.errors import UsageProblem
from orchestrator.migrate.ratchet import Verdict, by_regex, count, judge
from orchestrator.migrate.recipe import Recipe
from worktrees.names import printable
from worktrees.repository import Repository


@dataclass(frozen=True)
class Question:
    """What is asked: `ref` is counted (empty for what is checked out), `since` is what it is held against, if any.

    `most` bounds all sites together; without it each kind of site has its own target.
    """

    recipe: Recipe
    ref: str = ""
    since: str = ""
    most: int | None = None


async def check_sites(root: Path, question: Question) -> Verdict:
    """Count, and compare. Only commits are looked at, never what lies about in the checkout.

    Raises:
        UsageProblem: `root` is no repository, a commit does not exist, the recipe counts no sites.
    """
    recipe = question.recipe
    _require_countable(recipe)
    repository = await to_thread.run_sync(open_repository, root)
    commit = await to_thread.run_sync(_resolve, repository, question.ref or "HEAD")
    tally = await count(repository.git, commit, recipe.scope, by_regex)
    earlier = None
    if question.since:
        before = await to_thread.run_sync(_resolve, repository, question.since)
        earlier = await count(repository.git, before, recipe.scope, by_regex)
    return judge(recipe, tally, question.most, earlier)


def _require_countable(recipe: Recipe) -> None:
    if not recipe.scope.site:
        raise UsageProblem("the recipe counts no sites: add a [[scope.site]] with an id and a pattern to check it")
    for site in recipe.scope.site:
        if site.engine != "regex":
            raise UsageProblem(f"site {site.id}: check cannot count sites of engine = '{site.engine}' yet, only regex")


def _resolve(repository: Repository, name: str) -> CommitId:
    words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    found = repository.checkout_git.run_sync(*words, ok=(0, 1, 128))
    if found.exit_code:
        raise UsageProblem(
            f"there is no commit {printable(name)} in {repository.root}; a shallow clone lacks old ones: fetch more of "
            "the history (in GitHub's checkout action: fetch-depth: 0)"
        )
    return CommitId(found.text)
