"""The options of a caller, and the configuration, grant and settings that are built from them."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orchestrator.config.layers import LoadedConfig, load_config, merge_settings
from orchestrator.config.model import Config
from orchestrator.domain.recipe.merge import StopRules
from orchestrator.domain.recipe.model import RecipeEnv
from orchestrator.errors import UsageProblem
from orchestrator.hands.policy import BackendChoice, CommandLimits, GrantedFolder, RegistryGrant, SandboxGrant
from orchestrator.hands.sandbox.no_sandbox_in_ci import refuse_in_ci
from orchestrator.journal.locations.run_directory import StateDirectory
from orchestrator.llm.retry import RetryPolicy
from orchestrator.llm.throttling.providers import ProviderRules
from worktrees.errors import GitError
from worktrees.repositories.repository import GitRepository
from worktrees.safety.path_rules import escape_path

if TYPE_CHECKING:
    from orchestrator.llm.litellm_adapter.client import LiteLLMClient

_SCRIPTED = "scripted:"


@dataclass(frozen=True)
class Options:
    """The options of the command line.

    `flags` are nested configuration values; `read_only` are directories to show the sandbox. `run_name` is what a
    person calls the run that begins.
    """

    repository: Path
    flags: Mapping[str, Any] = field(default_factory=dict)
    read_only: tuple[str, ...] = ()
    trust_project: bool = False
    run_name: str = ""

    @property
    def values(self) -> dict[str, Any]:
        """The flags, with the directories among them by absolute paths."""
        if not self.read_only:
            return dict(self.flags)
        directories = [str(Path(name).expanduser().absolute()) for name in self.read_only]
        return merge_settings(self.flags, {"hands": {"read_only": directories}})


@dataclass(frozen=True)
class ProjectContext:
    """The repository, its configuration and where its runs lie."""

    repository: GitRepository
    loaded: LoadedConfig
    state: StateDirectory

    @property
    def config(self) -> Config:
        """The resolved configuration."""
        return self.loaded.config


def load_project_context(options: Options) -> ProjectContext:
    """Open the repository and resolve its configuration. Blocks.

    Raises:
        UsageProblem: it is no repository, has no commit, or its configuration is wrong.
    """
    repository = open_repository(options.repository)
    loaded = load_config(repository.root, options.values, trust_project=options.trust_project)
    config = resolve_script_paths(loaded.config)
    if config.hands.without_sandbox:
        refuse_in_ci(os.environ)
    state = open_state_directory(repository, config.state.dir)
    return ProjectContext(repository, LoadedConfig(config, loaded.origins, loaded.layers), state)


def open_repository(path: Path) -> GitRepository:
    """Open the repository that `path` lies in.

    Raises:
        UsageProblem: there is none that can be worked on.
    """
    try:
        repository = GitRepository.open(path)
        str(repository.root).encode()
    except GitError as error:
        raise UsageProblem(str(error)) from error
    except UnicodeEncodeError as error:
        name = escape_path(str(repository.root))
        raise UsageProblem(f"the path {name} is not UTF-8, so it cannot be recorded: rename the directory") from error
    return repository


def open_state_directory(repository: GitRepository, configured: str) -> StateDirectory:
    """Return the state directory of a repository; `configured` is empty for the usual one.

    Raises:
        UsageProblem: it would lie inside the checkout, which is never touched.
        EnvironmentProblem: other users could change it.
    """
    state = StateDirectory.open_for(repository.root, configured)
    if state.path.is_relative_to(repository.root):
        raise UsageProblem(
            f"the state directory {state.path} would lie inside the checkout {repository.root}, where git and tests "
            "would find it: name another place with --state DIR or dir under [state]"
        )
    return state


def open_places(options: Options) -> tuple[GitRepository, StateDirectory]:
    """Return a repository and its state directory, whatever the project configures. Blocks; raises as both do."""
    repository = open_repository(options.repository)
    config = load_config(None, {"state": options.flags.get("state", {})}).config
    return repository, open_state_directory(repository, config.state.dir)


def resolve_script_paths(config: Config) -> Config:
    """Return the configuration with absolute paths of scripted models, so that a resume finds them from anywhere."""

    def resolve_script(model: str) -> str:
        if not model.startswith(_SCRIPTED):
            return model
        return _SCRIPTED + str(Path(model.removeprefix(_SCRIPTED)).expanduser().absolute())

    def resolve_settings(settings: dict[str, Any]) -> None:
        if "model" in settings:
            settings["model"] = resolve_script(settings["model"])
        for fallback in settings.get("fallbacks", ()):
            resolve_settings(fallback)

    values = config.model_dump(mode="json", by_alias=True)
    for role in values["roles"].values():
        resolve_settings(role)
        for own in (*role.get("variants", {}).values(), *role.get("lenses", {}).values()):
            resolve_settings(own)
    limits = {}
    for model, limit in values["budget"]["models"].items():
        limits[resolve_script(model)] = limit
    values["budget"]["models"] = limits
    return Config.model_validate(values)


def build_grant(config: Config, recipe: RecipeEnv | None = None, programs: Sequence[str] = ()) -> SandboxGrant:
    """Return what the user allows in the sandbox, by the configuration, the recipe and our own programs."""
    hands, extra = config.hands, recipe or RecipeEnv()
    folders = [GrantedFolder(path=path) for path in hands.read_only]
    folders += [GrantedFolder(path=path, origin="env.read_only of the recipe") for path in extra.read_only]
    tools = [GrantedFolder(path=path, origin="env.tools of the recipe") for path in extra.tools]
    return SandboxGrant(
        read_only=tuple(folders),
        tools=tuple(tools),
        programs=tuple(programs),
        share=(*config.env.share, *extra.share),
        writable=config.env.writable,
        env={**config.env.vars, **extra.vars},
        uid=hands.uid,
        backend=BackendChoice(hands.backend),
        without_sandbox=hands.without_sandbox,
        ceiling=max(hands.ask_tier, config.roles.worker.tier, config.roles.planner.tier, *hands.tiers.values()),
        registries=RegistryGrant(
            named=hands.registries,
            private=hands.private_registries,
            plain=hands.plain_registries,
            budget_bytes=hands.registry_mb * 1024 * 1024,
        ),
        limits=CommandLimits(
            address_space_bytes=hands.memory_mb * 1024 * 1024 or None,
            file_bytes=hands.file_mb * 1024 * 1024,
            processes=hands.processes,
            output_bytes=hands.output_mb * 1024 * 1024,
            memory_bytes=hands.total_memory_mb * 1024 * 1024 or None,
            cpu_s=hands.cpu_s or None,
            disk_bytes=hands.disk_mb * 1024 * 1024 or None,
        ),
    )


def build_litellm_client(config: Config) -> "LiteLLMClient":
    """Return a client for every model that is not scripted, with the user's prices and bounds."""
    from orchestrator.llm.litellm_adapter.client import LiteLLMClient

    return LiteLLMClient(config.prices, max_reply_mb=config.retry.max_reply_mb)


def build_retry_policy(config: Config) -> RetryPolicy:
    """Return the retry policy of `[retry]`."""
    return RetryPolicy(**config.retry.model_dump(include=set(RetryPolicy.model_fields)))


def count_callers(config: Config) -> int:
    """Return how many workers, planners and verifiers may each have a call under way at the same time."""
    callers = config.run.max_workers + config.plan.max_planners
    if config.roles.verifier.is_active:
        callers += config.run.max_workers
    return callers


def build_provider_rules(config: Config) -> ProviderRules:
    """Return the provider limits of `[providers]` and `[retry]`."""
    retry = config.retry
    rules = ProviderRules(
        by_key=config.providers,
        concurrency=retry.concurrency,
        callers=count_callers(config),
        breaker_failures=retry.breaker_failures,
        breaker_pause_s=retry.breaker_pause_s,
        patience_s=retry.retry_after_cap_s,
    )
    judge = config.roles.judge
    judge_keys = set()
    for settings in (judge, *map(judge.get_lens_settings, judge.active_lenses)):
        for model in settings.list_fallback_chain():
            judge_keys.add(rules.get_limits_key(model.model, model.api_base or None))
    return rules.model_copy(update={"judge_keys": frozenset(judge_keys)})


def apply_recipe_limits(project: ProjectContext, stop: StopRules) -> ProjectContext:
    """Return the project with the lower of both limits: a recipe only ever lowers what the user set (0: no limit)."""
    config = project.config
    changes = {
        "budget": {"usd": choose_lower_limit(config.budget.usd, stop.budget_usd)},
        "run": {"time_limit_s": choose_lower_limit(config.run.time_limit_s, stop.wall_s)},
    }
    values = merge_settings(config.model_dump(mode="json", by_alias=True), changes)
    return replace(project, loaded=replace(project.loaded, config=Config.model_validate(values)))


def choose_lower_limit(of_user: float, of_recipe: float) -> float:
    """Return the lower of two limits, of which 0 means none."""
    return min([limit for limit in (of_user, of_recipe) if limit > 0], default=0)
