"""`migrate plan`: what a recipe has in scope, how that is divided, and what will be done to it and checked."""

from anyio import to_thread

from orchestrator.discovery.migration_events import discover_migration
from orchestrator.domain.event.migration import FilesFound, ShardsPlanned
from orchestrator.domain.event.run import Noticed
from orchestrator.migrate.recipe import Recipe
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
    return PlanReport(
        recipe=recipe,
        base=base,
        files=tuple(file for event in events if isinstance(event, FilesFound) for file in event.files),
        shards=tuple(shard for event in events if isinstance(event, ShardsPlanned) for shard in event.shards),
        notices=tuple(event.text for event in events if isinstance(event, Noticed)),
    )
