"""What a caller asks for, and the configuration that makes of it."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orchestrator.config.layers import Loaded, load
from orchestrator.config.model import Config
from orchestrator.domain.price import Price
from orchestrator.errors import UsageProblem
from orchestrator.hands.policy import Choice, GivenDir, Grant, Limits, RegistryWish
from orchestrator.hands.unwatched import refuse_in_ci
from orchestrator.journal.runs import StateDirectory
from orchestrator.llm.limits import ProviderRules
from orchestrator.llm.litellm_client import LiteLLMClient
from orchestrator.llm.retry import RetryPolicy
from orchestrator.migrate.recipe import RecipeEnv
from worktrees.errors import GitError
from worktrees.names import printable
from worktrees.repository import Repository

_SCRIPTED = "scripted:"


@dataclass(frozen=True)
class Options:
    """What the command line says. `flags` are nested configuration values; `read_only` are directories to bind."""

    repository: Path
    flags: Mapping[str, Any] = field(default_factory=dict)
    read_only: tuple[str, ...] = ()
    trust_project: bool = False


@dataclass(frozen=True)
class Surroundings:
    """The repository, its configuration and where its runs lie."""

    repository: Repository
    loaded: Loaded
    state: StateDirectory

    @property
    def config(self) -> Config:
        """The resolved configuration."""
        return self.loaded.config


def look_around(options: Options) -> Surroundings:
    """Open the repository and resolve its configuration. Blocks.

    Raises:
        UsageProblem: it is no repository, has no commit, or its configuration is wrong.
    """
    repository = open_repository(options.repository)
    flags = dict(options.flags)
    if options.read_only:
        hands = dict(flags.get("hands", {}))
        flags["hands"] = hands | {"read_only": [str(Path(d).expanduser().absolute()) for d in options.read_only]}
    loaded = load(repository.root, flags, trust_project=options.trust_project)
    config = with_absolute_scripts(loaded.config)
    if config.hands.without_sandbox:
        refuse_in_ci(os.environ)
    state = state_directory(repository, config.state.dir)
    return Surroundings(repository, Loaded(config, loaded.origins, loaded.layers), state)


def open_repository(path: Path) -> Repository:
    """The repository that `path` lies in.

    Raises:
        UsageProblem: there is none that can be worked on.
    """
    try:
        repository = Repository.open(path)
        str(repository.root).encode()
    except GitError as error:
        raise UsageProblem(str(error)) from error
    except UnicodeEncodeError as error:
        name = printable(str(repository.root))
        raise UsageProblem(f"the path {name} is not UTF-8, so it cannot be recorded: rename the directory") from error
    return repository


def state_directory(repository: Repository, configured: str) -> StateDirectory:
    """Where the runs of a repository lie; `configured` is empty for the usual place.

    Raises:
        UsageProblem: it would lie inside the checkout, which is never touched.
        EnvironmentProblem: other users could change it.
    """
    state = StateDirectory.open(repository.root, configured)
    if state.path.is_relative_to(repository.root):
        raise UsageProblem(
            f"the state directory {state.path} would lie inside the checkout {repository.root}, where git and tests "
            "would find it: name another place with --state DIR or dir under [state]"
        )
    return state


def with_absolute_scripts(config: Config) -> Config:
    """The configuration with scripted models named by absolute paths, so that a resume finds them from anywhere."""

    def absolute(model: str) -> str:
        if not model.startswith(_SCRIPTED):
            return model
        return _SCRIPTED + str(Path(model.removeprefix(_SCRIPTED)).expanduser().absolute())

    def fixed(settings: dict[str, Any]) -> None:
        if "model" in settings:
            settings["model"] = absolute(settings["model"])
        for fallback in settings.get("fallbacks", ()):
            fixed(fallback)

    values = config.model_dump(mode="json", by_alias=True)
    for role in values["roles"].values():
        fixed(role)
        for own in (*role.get("variants", {}).values(), *role.get("lenses", {}).values()):
            fixed(own)
    values["budget"]["models"] = {absolute(model): limit for model, limit in values["budget"]["models"].items()}
    return Config.model_validate(values)


def grant(config: Config, recipe: RecipeEnv | None = None, programs: Sequence[str] = ()) -> Grant:
    """What the user allows in the sandbox: the configuration's share and the recipe's, and programs of our own."""
    hands, extra = config.hands, recipe or RecipeEnv()
    given = [GivenDir(path=path) for path in hands.read_only]
    given += [GivenDir(path=path, origin="env.read_only of the recipe") for path in extra.read_only]
    return Grant(
        read_only=tuple(given),
        programs=tuple(programs),
        share=(*config.env.share, *extra.share),
        env={**config.env.vars, **extra.vars},
        uid=hands.uid,
        backend=Choice(hands.backend),
        without_sandbox=hands.without_sandbox,
        ceiling=max(hands.ask_tier, config.roles.worker.tier, config.roles.planner.tier, *hands.tiers.values()),
        registries=RegistryWish(
            named=hands.registries,
            private=hands.private_registries,
            plain=hands.plain_registries,
            budget_bytes=hands.registry_mb * 1024 * 1024,
        ),
        limits=Limits(
            address_space_bytes=hands.memory_mb * 1024 * 1024 or None,
            file_bytes=hands.file_mb * 1024 * 1024,
            processes=hands.processes,
            output_bytes=hands.output_mb * 1024 * 1024,
            memory_bytes=hands.total_memory_mb * 1024 * 1024 or None,
            cpu_s=hands.cpu_s or None,
            disk_bytes=hands.disk_mb * 1024 * 1024 or None,
        ),
    )


def prices(config: Config) -> dict[str, Price]:
    """`[prices]` by model."""
    return {model: settings.price() for model, settings in config.prices.items()}


def litellm_client(config: Config) -> LiteLLMClient:
    """Return a client for every model that is not scripted, with the user's prices and bounds."""
    return LiteLLMClient(prices(config), max_reply_mb=config.retry.max_reply_mb)


def retry_policy(config: Config) -> RetryPolicy:
    """`[retry]` as the retries take it."""
    return RetryPolicy(**config.retry.model_dump(include=set(RetryPolicy.model_fields)))


def provider_rules(config: Config) -> ProviderRules:
    """`[providers]`, and what `[retry]` says of providers, as the limits take it."""
    retry = config.retry
    rules = ProviderRules(
        by_key=config.providers,
        concurrency=retry.concurrency,
        breaker_failures=retry.breaker_failures,
        breaker_pause_s=retry.breaker_pause_s,
        patience_s=retry.retry_after_cap_s,
    )
    judge = config.roles.judge
    asked = (judge, *(judge.lens(name) for name in judge.reviewers))
    judges = (rules.key(model.model, model.api_base or None) for settings in asked for model in settings.chain())
    return rules.model_copy(update={"judge_keys": frozenset(judges)})
