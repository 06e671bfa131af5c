"""Make a run, after checking all that must be in order before its first event. Nothing works on it yet."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from anyio import to_thread

from orchestrator.app.configured_prompts import load_configured_prompts
from orchestrator.app.field_guides import read_guide_events
from orchestrator.app.host_certificates import require_host_certificates
from orchestrator.app.run_naming import hold_run_name
from orchestrator.app.telemetry import require_telemetry_extra
from orchestrator.config.model import Config
from orchestrator.domain.event import Event
from orchestrator.domain.event.people import PlanGiven
from orchestrator.domain.event.run import Noticed
from orchestrator.domain.ids import CommitId
from orchestrator.domain.recipe.model import ENVIRONMENT_NAMES, Recipe, RecipeEnv, select_environment
from orchestrator.domain.run.notice_codes import NoticeCode
from orchestrator.domain.text.listing import join_limited
from orchestrator.engine.commits import build_commit_style
from orchestrator.engine.run_start import NewRun, build_first_events
from orchestrator.errors import EnvironmentProblem, UsageProblem
from orchestrator.forge.factory import require_forge
from orchestrator.forge.target_branch import require_target_branch
from orchestrator.hands.local import preview_policy
from orchestrator.hands.policy import SandboxGrant
from orchestrator.hands.policy_resolution import find_withheld_outputs
from orchestrator.hands.private_copies.stale_outputs import find_shared_outputs
from orchestrator.journal.journal import Journal, SystemClock
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.journal.locations.run_names import require_free_run_name
from orchestrator.llm.router import ModelRouter
from orchestrator.migrate.sites.ast_grep import list_needed_programs
from orchestrator.project.options import Options, ProjectContext, apply_recipe_limits, build_grant, load_project_context
from orchestrator.project.policy_files import require_usable_policy
from orchestrator.project.secrets import build_redactor, require_secret_free_event
from orchestrator.redact.redactor import PATTERN_REDACTOR, Redactor
from orchestrator.run_control.control import RunLocation
from roles.configured_models import find_model_problems, needs_providers
from worktrees.errors import GitError
from worktrees.git import require_git_version
from worktrees.object_store.commit_style import try_signing
from worktrees.ref_store.refs import read_ref

if TYPE_CHECKING:
    from orchestrator.migrate.scope.planning import WorkFilter


def do_nothing() -> None:
    """Load nothing early."""


async def create_goal_run(
    options: Options, goal: str, load_models: Callable[[], None] = do_nothing, given: PlanGiven | None = None
) -> RunLocation:
    """Make a run for a goal; nothing works on it yet.

    `load_models` is called as soon as it is known that the run asks models of providers. `given` is the plan that a
    person gave.

    Raises:
        OrchestrateError: it cannot be started; nothing was changed.
    """
    project = await to_thread.run_sync(_load_project, options)
    if not project.config.gate.build_checks():
        raise UsageProblem(
            'no gate is configured, so nothing could be judged: give --gate "COMMAND", or set command under [gate]'
        )
    require_telemetry_extra(project.config.telemetry)
    await require_host_certificates(project.config.hosts)
    if needs_providers(project.config.roles):
        load_models()
    await require_models(project.config)
    await load_configured_prompts(project.config)
    await require_forge(project.repository, project.config)
    await require_target_branch(project.repository, project.config)
    base = CommitId(project.repository.read_head_commit())
    events = [*await read_guide_events(project, base), *([given] if given else [])]
    new = NewRun("goal", goal, project.config.pr.prefix, events=events, base=base, name=options.run_name)
    return await create_new_run(project, new, build_grant(project.config))


async def create_migration_run(
    options: Options, recipe: Recipe, work_filter: "WorkFilter | None" = None
) -> RunLocation:
    """Make a run for a migration, or for the part of it that is asked for; nothing works on it yet.

    Raises:
        OrchestrateError: it cannot be started, or the recipe or what is asked for matches nothing; nothing was changed.
    """
    from orchestrator.discovery.migration_events import discover_migration, require_installable  # a goal finds nothing
    from orchestrator.migrate.scope.planning import EVERYTHING

    project = await to_thread.run_sync(_load_project, options)
    require_telemetry_extra(project.config.telemetry)
    await require_host_certificates(project.config.hosts)
    await require_target_branch(project.repository, project.config)
    if roles := tuple(recipe.needed_roles):
        await require_models(project.config, *roles)
        await load_configured_prompts(project.config)
    work_filter = work_filter or EVERYTHING
    recipe = work_filter.apply_sample(recipe)
    project = apply_recipe_limits(project, recipe.stop)
    base, found = await discover_migration(project, recipe, work_filter)
    await require_installable(project, recipe, base)
    target = await _find_target_branch(project, recipe.migration.base)
    prefix = f"migrate/{recipe.migration.id}/"
    new = NewRun("migration", recipe.title, prefix, recipe.dump_values(), found, base, target, options.run_name)
    return await create_new_run(project, new, *build_world_grants(project.config, recipe))


def _load_project(options: Options) -> ProjectContext:
    """Load a project in which a run of the wanted name may begin."""
    project = load_project_context(options)
    if options.run_name:
        require_free_run_name(project.state, options.run_name)
    return project


def build_world_grants(config: Config, recipe: Recipe) -> list[SandboxGrant]:
    """Return the sandbox grants of a migration's environments; one if they are the same."""
    environments = (select_environment(recipe.env, name).model_dump_json() for name in ENVIRONMENT_NAMES)
    envs = map(RecipeEnv.model_validate_json, dict.fromkeys(environments))
    return [build_grant(config, env, list_needed_programs(recipe)) for env in envs]


async def _find_target_branch(project: ProjectContext, name: str) -> str:
    """Return the name if a branch has it; otherwise the empty string."""
    is_branch = name and await read_ref(project.repository.git, f"refs/heads/{name}")
    return name if is_branch else ""


async def require_models(config: Config, *roles: str) -> None:
    """Make sure that the configured models exist as far as can be told without a call.

    Raises:
        EnvironmentProblem: names each role's problem and how to mend it.
    """
    async with ModelRouter(Path()) as router:
        problems = await find_model_problems(config.roles, router, roles)
    if problems:
        raise EnvironmentProblem("\n".join(problems))


async def create_new_run(project: ProjectContext, new: NewRun, *grants: SandboxGrant) -> RunLocation:
    """Make a run for these sandbox grants; nothing works on it yet.

    Raises:
        EnvironmentProblem: git is too old, or no sandbox is installed; the engine finds out whether one holds.
        CommitNotSigned: commits are to be signed, and the key cannot be used.
        UsageProblem: its name or PR branch is taken, its settings hold a secret, or its policy cannot be kept.
    """
    await _require_git()
    base = new.base or CommitId(project.repository.read_head_commit())
    await require_usable_policy(project.config, project.repository.git, base)
    withheld: dict[str, None] = {}
    outputs: dict[str, None] = {}
    for grant in grants:
        policy = await preview_policy(project.repository, project.state.path, grant)
        withheld |= dict.fromkeys(await find_withheld_outputs(project.repository, policy))
        shared = {name: Path(base) for name, base in policy.shared.items()}
        outputs |= dict.fromkeys(sorted(await to_thread.run_sync(find_shared_outputs, shared)))
    await try_signing(project.repository.git, build_commit_style(project.config.commits))
    now = SystemClock().now()
    async with hold_run_name(project.state, new.name):
        directory = project.state.build_run_directory(now)
        first = await build_first_events(new, directory.run, project.repository, project.config, now)
        first = (*first, *_build_output_notices(tuple(withheld)), *_build_sharing_notices(tuple(outputs)))
        await create_run_directory(directory, first, await to_thread.run_sync(build_redactor, project.config))
    return RunLocation(project.repository, project.state, directory)


async def _require_git() -> None:
    try:
        await to_thread.run_sync(require_git_version)
    except GitError as error:
        raise EnvironmentProblem(str(error)) from error


def _build_output_notices(withheld: Sequence[str]) -> Sequence[Noticed]:
    """Return a notice of the compiled outputs that workspaces do not get, if there are any."""
    if not withheld:
        return ()
    text = (
        "what was compiled from the project's sources in your checkout is not used "
        f"({join_limited(withheld, 5)}), because it would judge "
        'every change by what was built before: build it in the gate (command under [gate], such as "make && pytest"), '
        "or, if nobody changes what it is built from, name it in share under [env] of your own configuration"
    )
    return (Noticed(level="warning", code=NoticeCode.OUTPUTS_WITHHELD, paths=tuple(withheld), text=text),)


def _build_sharing_notices(outputs: Sequence[str]) -> Sequence[Noticed]:
    """Return a notice of the outputs that workspaces get although nobody builds them, if there are any."""
    if not outputs:
        return ()
    text = (
        f"{join_limited(outputs, 5)} in your checkout was built from the project's sources, and share under [env] "
        "gives it to workspaces: what is built from other sources than these judges nothing. A tree that changes a "
        "file of a compiled language, of a build, or of the same name does not get it; of other sources nobody knows. "
        'Build it in the gate instead (command under [gate], such as "make && pytest")'
    )
    return (Noticed(level="warning", code=NoticeCode.OUTPUTS_SHARED, paths=tuple(outputs), text=text),)


async def create_run_directory(
    directory: RunDirectory, first: Sequence[Event], redactor: Redactor = PATTERN_REDACTOR
) -> None:
    """Make a run's directory with a journal that holds its first events.

    Raises:
        UsageProblem: the settings hold a secret that the redactor knows.
    """
    for event in first:
        require_secret_free_event(event, redactor)
    with directory.hold_lock():
        journal = await to_thread.run_sync(Journal, directory.path, SystemClock(), redactor)
        try:
            await journal.append(*first)
        finally:
            journal.close()
