"""Looking at what a recipe is about, before there is a run."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager

from anyio import to_thread

from orchestrator.app.deps import DEPS, with_deps
from orchestrator.app.options import Surroundings, grant
from orchestrator.app.secrets import redactor_for
from orchestrator.domain.event.migration import FilesFound, ShardsPlanned
from orchestrator.domain.event.run import Noticed
from orchestrator.domain.ids import CommitId
from orchestrator.errors import EnvironmentProblem
from orchestrator.hands.local import local_hands
from orchestrator.migrate.ast_grep import programs
from orchestrator.migrate.inventory import base_of
from orchestrator.migrate.planning import needs_hands, survey
from orchestrator.migrate.recipe import Recipe
from orchestrator.ports.hands import Workspace

Surveyed = tuple[FilesFound | ShardsPlanned | Noticed, ...]


async def surveyed(around: Surroundings, recipe: Recipe) -> tuple[CommitId, Surveyed]:
    """The commit that a migration starts from, and the events that it begins with.

    Raises:
        UsageProblem: the recipe names no base, has no file in scope, or cannot be followed.
        NothingToMigrate: no file in scope has a site.
        EnvironmentProblem: it takes a sandbox or a program that this host does not have.
    """
    git = around.repository.git
    base = await base_of(git, recipe, around.repository.head())
    async with _workspace(around, recipe, base) as workspace:
        return base, await survey(git, base, recipe, workspace)


@asynccontextmanager
async def _workspace(around: Surroundings, recipe: Recipe, base: CommitId) -> AsyncIterator[Workspace | None]:
    """A workspace at the base with what the recipe's commands need; None where the recipe has none to run."""
    if not needs_hands(recipe):
        yield None
        return

    async def tell(text: str) -> None:
        """What is installed is told when the run begins."""

    config, state = around.config, around.state.path
    granted = grant(config, recipe.env, programs(recipe))
    deps = (*config.env.deps, *recipe.env.deps)
    redactor = await to_thread.run_sync(redactor_for, config)
    async with AsyncExitStack() as stack:
        lent = stack.enter_context(ExitStack())
        granted = await with_deps(granted, deps, around.repository, state, state / DEPS, base, tell, lent)
        hands = await stack.enter_async_context(local_hands(around.repository, state, granted, redactor=redactor))
        if hands.refusal:
            raise EnvironmentProblem(hands.refusal)
        yield await hands.open(base, "inventory")
