"""Looking at what a recipe is about, before there is a run."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from pathlib import Path

from anyio import to_thread

from orchestrator.app.deps import DEPS, manifests_of, with_deps
from orchestrator.app.earlier import earlier_runs
from orchestrator.app.options import Surroundings, grant
from orchestrator.app.secrets import redactor_for
from orchestrator.app.setup import granted_tier, with_setup
from orchestrator.domain.event.migration import FileMoved, FilesFound, ShardsPlanned
from orchestrator.domain.event.run import Noticed
from orchestrator.domain.ids import CommitId
from orchestrator.errors import EnvironmentProblem
from orchestrator.hands.local import local_hands
from orchestrator.migrate.asked import EVERYTHING, Asked
from orchestrator.migrate.judging.worlds import WORLDS, env_of
from orchestrator.migrate.recipe import Recipe
from orchestrator.migrate.scope.ast_grep import programs
from orchestrator.migrate.scope.inventory import base_of
from orchestrator.migrate.scope.planning import needs_hands, survey
from orchestrator.ports.hands import Workspace

Surveyed = tuple[FilesFound | FileMoved | ShardsPlanned | Noticed, ...]


async def surveyed(around: Surroundings, recipe: Recipe, asked: Asked = EVERYTHING) -> tuple[CommitId, Surveyed]:
    """The commit that a migration starts from, and the events that it begins with, with a notice of an earlier run.

    Raises:
        UsageProblem: the recipe names no base, has no file in scope, or cannot be followed; nothing is asked for.
        NothingToMigrate: no file in scope has a site.
        EnvironmentProblem: it takes a sandbox or a program that this host does not have.
    """
    base = await base_of(around.repository.git, recipe, around.repository.head())
    found = await surveyed_at(around, recipe, base, asked)
    return base, (*found, *await earlier_runs(around, recipe, base, found))


async def surveyed_at(
    around: Surroundings, recipe: Recipe, base: CommitId, asked: Asked, store: Path | None = None
) -> Surveyed:
    """The events that a migration begins with at a commit; raises as `surveyed` does."""
    git = around.repository.git
    if not needs_hands(recipe):
        return await survey(git, base, recipe, None, asked)
    async with workspace_at(around, recipe, base, store) as workspace:
        return await survey(git, base, recipe, workspace, asked)


async def require_installable(around: Surroundings, recipe: Recipe, base: CommitId) -> None:
    """Make sure, while there is no run yet, of what can be told of `[env]` without installing anything.

    Raises:
        UsageProblem: an entry of `deps` cannot be understood, or what is to be installed needs a tier that nobody has.
    """
    granted = grant(around.config)
    if entries := (*around.config.env.deps, *recipe.env.deps):
        await manifests_of(granted, entries, around.repository, base)
    for world in WORLDS:
        if (env := env_of(recipe.env, world)).setup:
            granted_tier(granted, env)


@asynccontextmanager
async def workspace_at(
    around: Surroundings, recipe: Recipe, commit: CommitId, store: Path | None = None
) -> AsyncIterator[Workspace]:
    """A workspace at a commit in which the recipe's commands find sites and name shards, as its new world has it.

    What `[env]` installs is there if the recipe has such commands; it is kept in `store`, by default in the state
    directory.

    Raises:
        UsageProblem: what the recipe installs needs a tier that nobody is granted.
        EnvironmentProblem: there is no sandbox, or something cannot be installed.
    """

    async def tell(text: str) -> None:
        """What is installed is told when the run begins."""

    config, state, env = around.config, around.state.path, env_of(recipe.env, "after")
    granted = grant(config, env, programs(recipe))
    redactor = await to_thread.run_sync(redactor_for, config)
    async with AsyncExitStack() as stack:
        lent = stack.enter_context(ExitStack())
        here = (around.repository, state, store or state / DEPS, commit, tell, lent)
        if _has_commands(recipe):
            granted = await with_deps(granted, (*config.env.deps, *env.deps), *here)
            granted = await with_setup(granted, env, *here)
        hands = await stack.enter_async_context(local_hands(around.repository, state, granted, redactor=redactor))
        if hands.refusal:
            raise EnvironmentProblem(hands.refusal)
        yield await hands.open(commit, "inventory")


def _has_commands(recipe: Recipe) -> bool:
    """Whether something of the recipe itself is run; ast-grep needs nothing of the project."""
    return "command" in recipe.shard.by or any(site.engine == "command" for site in recipe.scope.site)
