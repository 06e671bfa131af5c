"""`migrate plan`: what a recipe has in scope, how that is divided, and what will be done to it and checked."""

from anyio import to_thread

from orchestrator.discovery.migration_events import discover_migration
from orchestrator.domain.event.migration import FilesFound, FoundFile, ShardsPlanned
from orchestrator.domain.event.run import Noticed
from orchestrator.domain.migration.files import Shard
from orchestrator.domain.recipe.model import Recipe
from orchestrator.migrate.scope.plan_report import PlanReport
from orchestrator.project.options import Options, load_project_context


async def build_inventory(options: Options, recipe: Recipe) -> PlanReport:
    """Find what the recipe covers.

    Raises:
        UsageProblem: no file is in scope, or the repository or the recipe cannot be used.
        NothingToMigrate: no file in scope has a site.
        EnvironmentProblem: it takes a sandbox or a program that this host does not have.
    """
    project = await to_thread.run_sync(load_project_context, options)
    base, events = await discover_migration(project, recipe)
    files: list[FoundFile] = []
    shards: list[Shard] = []
    notices = []
    for event in events:
        if isinstance(event, FilesFound):
            files += event.files
        elif isinstance(event, ShardsPlanned):
            shards += event.shards
        elif isinstance(event, Noticed):
            notices.append(event.text)
    return PlanReport(recipe=recipe, base=base, files=tuple(files), shards=tuple(shards), notices=tuple(notices))
