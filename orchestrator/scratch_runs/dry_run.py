"""`migrate run --dry-run`: carry a migration to its first queue, in a scratch directory that is removed."""

from dataclasses import dataclass, replace

from anyio import to_thread

from orchestrator.app.run_creation import build_world_grants, create_new_run
from orchestrator.app.wiring import RunOverrides, RunWatcher, open_run
from orchestrator.config.layers import merge_settings
from orchestrator.config.model import Config
from orchestrator.discovery.migration_events import discover_migration_at, find_previous_run_notice
from orchestrator.domain.ids import CommitId
from orchestrator.domain.recipe.model import Recipe
from orchestrator.engine.run_start import NewRun
from orchestrator.migrate.dry_run.runner import DryRunner, build_dry_run_report
from orchestrator.migrate.scope.inventory import resolve_base
from orchestrator.migrate.scope.planning import EVERYTHING, WorkFilter
from orchestrator.migrate.steps.result_cache import get_process_cache
from orchestrator.project.options import Options, ProjectContext, load_project_context
from orchestrator.project.scratch_directory import ScratchDirectory, create_scratch_directory
from orchestrator.provisioning.dependencies import DEPS_DIRECTORY
from orchestrator.report.migration.dry_run import DryRunReport
from orchestrator.run_control.control import RunLocation

_ALONE = {
    "pr": {"push": "", "forge": "local"},
    "approval": {"mode": "auto", "expires_s": 0},
    "hosts": {"listen": ""},
}
_LEFT_OUT = {"hooks", "notify"}
"""Nobody outside is asked or told anything."""


@dataclass(frozen=True)
class DryRunOptions:
    """The options of a dry run: with `verify` the gate is run, with `diff` the report has the unified diff."""

    work_filter: WorkFilter = EVERYTHING
    verify: bool = False
    diff: bool = False


async def dry_run_recipe(
    options: Options, recipe: Recipe, dry_run_options: DryRunOptions, watcher: RunWatcher | None = None
) -> DryRunReport:
    """Try a recipe, and return the report.

    Repository, checkout, refs, objects and runs stay as they are. Results of steps are taken from earlier runs where
    they are known. What `[env]` installs is kept in the state directory, as for every run.

    Raises:
        OrchestrateError: as `create_migration_run` does, or it had to stop.
    """
    project = await to_thread.run_sync(load_project_context, options)
    base = await resolve_base(project.repository.git, recipe, project.repository.read_head_commit())
    work_filter = dry_run_options.work_filter
    with create_scratch_directory(project.repository, project.state, keep=False) as scratch:
        scratch_project, sampled = _move_to_scratch(project, scratch), work_filter.apply_sample(recipe)
        run = await _create_run(scratch_project, project, sampled, base, work_filter)
        overrides = RunOverrides(deps=project.state.path / DEPS_DIRECTORY, asks_before_landing=False)
        async with open_run(run, watcher, overrides) as context:
            get_process_cache(context).earlier_runs = project.state.list_runs()
            slots = context.command_slots
            only_sample = bool(work_filter.sample)
            runner = DryRunner(context, slots, only_sample=only_sample, verify=dry_run_options.verify)
            outcome = await runner.run_to_queue()
            wants_diff, git = dry_run_options.diff, scratch.repository.git
            return await build_dry_run_report(git, context.state, outcome, wants_diff=wants_diff)


def _move_to_scratch(project: ProjectContext, scratch: ScratchDirectory) -> ProjectContext:
    """Return the project in the scratch directory, with settings that reach nobody outside."""
    settings = project.config.model_dump(mode="json", by_alias=True, exclude=_LEFT_OUT)
    config = Config.model_validate(merge_settings(settings, _ALONE))
    return ProjectContext(scratch.repository, replace(project.loaded, config=config), scratch.state)


async def _create_run(
    scratch_project: ProjectContext, project: ProjectContext, recipe: Recipe, base: CommitId, work_filter: WorkFilter
) -> RunLocation:
    found = await discover_migration_at(scratch_project, recipe, base, work_filter, project.state.path / DEPS_DIRECTORY)
    found = (*found, *await find_previous_run_notice(project, recipe, base, found))
    new = NewRun("migration", recipe.title, f"migrate/{recipe.migration.id}/", recipe.dump_values(), found, base)
    return await create_new_run(scratch_project, new, *build_world_grants(scratch_project.config, recipe))
