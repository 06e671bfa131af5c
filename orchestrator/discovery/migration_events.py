"""Find what a recipe is about, before there is a run.

A person is warned, before anything is spent, that an earlier run has landed files that this one would do again.
"""

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, suppress
from pathlib import Path

from anyio import to_thread

from orchestrator.domain.event import Event
from orchestrator.domain.event.migration import FileMoved, FilesFound, FoundFile, ShardsPlanned
from orchestrator.domain.event.run import Noticed, RunStarted
from orchestrator.domain.ids import CommitId
from orchestrator.domain.migration.files import Shard
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.recipe.model import ENVIRONMENT_NAMES, Recipe, select_environment
from orchestrator.domain.run.notice_codes import NoticeCode
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.listing import join_limited
from orchestrator.errors import EnvironmentProblem, OrchestrateError
from orchestrator.hands.local import open_local_hands
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.journal.state.derivation import derive_whole_state
from orchestrator.journal.storage.event_reader import EventReader
from orchestrator.migrate.scope.inventory import resolve_base
from orchestrator.migrate.scope.plan_report import PlanReport
from orchestrator.migrate.scope.planning import EVERYTHING, WorkFilter, needs_hands, plan_migration
from orchestrator.migrate.sites.ast_grep import list_needed_programs
from orchestrator.ports.hands import Workspace
from orchestrator.project.options import Options, ProjectContext, build_grant, load_project_context
from orchestrator.project.secrets import build_redactor
from orchestrator.provisioning import dependencies
from worktrees.ref_store.refs import list_refs

_RUNS = 50
_URLS = 3


async def find_previous_run_notice(
    project: ProjectContext, recipe: Recipe, base: CommitId, events: Sequence[Event]
) -> tuple[Noticed, ...]:
    """Return a notice of the newest earlier run whose branch has files that are to be done again, if there is one.

    Such a file stands at the base as that run found it. A run whose branch is gone, or that was not to publish what it
    landed, is passed over.

    Args:
        project: the repository and where its runs lie.
        recipe: what is to be carried out.
        base: the commit to start from.
        events: what such a run begins with.
    """
    pending = set(_list_pending_files(events))
    branches = await list_refs(project.repository.git, "refs/heads/")
    for run in reversed(project.state.list_runs()[-_RUNS:]):
        state = await to_thread.run_sync(_read_open_run, run, recipe.migration.id)
        if state is None or f"refs/heads/{state.run.branch}" not in branches:
            continue
        repeated = sum((file.path, file.base) in pending for file in state.migration.files.values() if file.landed)
        if repeated:
            text, code = _describe_run(state, base, repeated), NoticeCode.EARLIER_RUN
            return (Noticed(level="warning", text=text, code=code, subject=state.run.run),)
    return ()


def _list_pending_files(events: Iterable[Event]) -> Iterator[tuple[str, str]]:
    """Yield path and blob of the files that are to be done."""
    skipped: set[str] = set()
    files: list[FoundFile] = []
    for event in events:
        if isinstance(event, FileMoved):
            skipped.add(event.path)
        elif isinstance(event, FilesFound):
            files += event.files
    for file in files:
        if file.path not in skipped:
            yield file.path, file.blob


def _read_open_run(run: RunDirectory, migration: str) -> RunState | None:
    """Return the state of a run of this migration that is under way or has published; None for any other. Blocks."""
    with suppress(OrchestrateError), EventReader.open_reader(run.journal) as reader:
        first = next(iter(reader.read_events(until=1)), None)
        if first is None or not isinstance(first.event, RunStarted) or _get_migration_id(first.event) != migration:
            return None
        state = derive_whole_state(reader).state
        if state.ended is None or state.pr is not None or state.migration.prs:
            return state
        return None
    return None


def _get_migration_id(started: RunStarted) -> str:
    return str((started.recipe or {}).get("migration", {}).get("id", ""))


def _describe_run(state: RunState, base: CommitId, repeated: int) -> str:
    run, opened = state.run, [*state.migration.prs.values()]
    if state.pr is not None and not opened:
        opened = [state.pr]
    urls = [pr.url for pr in opened if pr.url]
    shown = f" ({join_limited(urls, _URLS)})" if urls else ""
    if state.ended is None:
        advice = f"go on with that one instead: orchestrate migrate resume {run.run}"
    else:
        advice = "merge that first, or delete the branch if nobody wants it"
    return (
        f"an earlier run of this migration, {run.run}, has landed {repeated} of these files on {run.branch}{shown}, "
        f"and commit {base[:12]} does not have them: a further run does them again and proposes them a second time; "
        f"{advice}"
    )


DiscoveryEvents = tuple[FilesFound | FileMoved | ShardsPlanned | Noticed, ...]


async def discover_migration(
    project: ProjectContext, recipe: Recipe, work_filter: WorkFilter = EVERYTHING
) -> tuple[CommitId, DiscoveryEvents]:
    """Return the base commit of a migration and its first events, with a notice of an earlier run if there was one.

    Raises:
        UsageProblem: the recipe names no base, has no file in scope, or cannot be followed; nothing is asked for.
        NothingToMigrate: no file in scope has a site.
        EnvironmentProblem: it takes a sandbox or a program that this host does not have.
    """
    base = await resolve_base(project.repository.git, recipe, project.repository.read_head_commit())
    found = await discover_migration_at(project, recipe, base, work_filter)
    return base, (*found, *await find_previous_run_notice(project, recipe, base, found))


async def discover_migration_at(
    project: ProjectContext, recipe: Recipe, base: CommitId, work_filter: WorkFilter, store: Path | None = None
) -> DiscoveryEvents:
    """Return the events that a migration begins with at a commit; raises as `discover_migration` does."""
    git = project.repository.git
    if not needs_hands(recipe):
        return await plan_migration(git, base, recipe, None, work_filter)
    async with open_workspace_at(project, recipe, base, store) as workspace:
        return await plan_migration(git, base, recipe, workspace, work_filter)


async def require_installable(project: ProjectContext, recipe: Recipe, base: CommitId) -> None:
    """Check, while there is no run yet, as much of `[env]` as can be checked without installing anything.

    Raises:
        UsageProblem: an entry of `deps` cannot be understood, or what is to be installed needs a tier that nobody has.
    """
    grant = build_grant(project.config)
    if entries := (*project.config.env.deps, *recipe.env.deps):
        await dependencies.load_manifests(grant, entries, project.repository, base)
    for environment in ENVIRONMENT_NAMES:
        if (env := select_environment(recipe.env, environment)).setup:
            dependencies.require_setup_tier(grant, env)


@asynccontextmanager
async def open_workspace_at(
    project: ProjectContext, recipe: Recipe, commit: CommitId, store: Path | None = None
) -> AsyncIterator[Workspace]:
    """Open a workspace at a commit for the recipe's commands that find sites and name shards.

    What `[env]` installs is there if the recipe has such commands; it is kept in `store`, by default in the state
    directory.

    Raises:
        UsageProblem: what the recipe installs needs a tier that nobody is granted.
        EnvironmentProblem: there is no sandbox, or something cannot be installed.
    """

    async def ignore_notice(text: str) -> None:
        """Ignore a notice: what is installed is told when the run begins."""

    config, state, env = project.config, project.state.path, select_environment(recipe.env, "after")
    grant = build_grant(config, env, list_needed_programs(recipe))
    redactor = await to_thread.run_sync(build_redactor, config)
    async with AsyncExitStack() as stack:
        until_end = stack.enter_context(ExitStack())
        folder = store or state / dependencies.DEPS_DIRECTORY
        installation = (project.repository, state, folder, commit, ignore_notice, until_end)
        if _has_commands(recipe):
            grant = await dependencies.install_dependencies(grant, (*config.env.deps, *env.deps), *installation)
            grant = await dependencies.run_setup_commands(grant, env, *installation)
        hands = await stack.enter_async_context(open_local_hands(project.repository, state, grant, redactor=redactor))
        if hands.refusal_reason:
            raise EnvironmentProblem(hands.refusal_reason)
        yield await hands.open_workspace(commit, Purpose("inventory"))


def _has_commands(recipe: Recipe) -> bool:
    """Return True if the recipe runs commands of its own; ast-grep needs nothing of the project."""
    return "command" in recipe.shard.by or any(site.engine == "command" for site in recipe.scope.site)


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
