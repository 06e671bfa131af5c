"""The live model that a replay asks again, with its prompts and settings."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from anyio import to_thread

from orchestrator.config.model import Config
from orchestrator.domain.chat import Role
from orchestrator.domain.run.state import RunState
from orchestrator.errors import EnvironmentProblem, UsageProblem
from orchestrator.llm.budget import RunBudget
from orchestrator.llm.recorded_model import CallPosition
from orchestrator.llm.router import ModelRouter
from orchestrator.llm.throttling.providers import ProviderRegistry, RateLimitedClient
from orchestrator.project import options
from orchestrator.replay.comparison.requests import get_model_settings
from orchestrator.replay.reask import RoleReasker
from prompts import SHIPPED_PROMPTS, PromptError, PromptSource
from roles.configured_models import find_model_problems, iterate_configured_models
from roles.model_roles import is_prompt_of_role


@dataclass(frozen=True)
class ReplayOptions:
    """The options of a replay: prompts from a directory, one role asked again, on another model, or offline.

    `keep` keeps the scratch directory. `calls` are those that are asked again, all of the role's where it is None.
    """

    prompts: Path | None = None
    only: Role | None = None
    model: str = ""
    offline: bool = False
    keep: bool = False
    calls: frozenset[CallPosition] | None = None

    async def load_prompts(self) -> PromptSource:
        """Return the prompts of the replay.

        Raises:
            UsageProblem: the directory holds none that can be used, or the wishes contradict each other.
        """
        if self.model and (self.only is None or self.offline):
            raise UsageProblem("--model is what a role is asked again on: give --only ROLE with it, and not --offline")
        if self.prompts is None:
            return SHIPPED_PROMPTS
        only = self.only
        try:
            return await to_thread.run_sync(
                PromptSource.from_directory, self.prompts, lambda name: only is None or is_prompt_of_role(only, name)
            )
        except PromptError as error:
            raise UsageProblem(str(error)) from error


@asynccontextmanager
async def open_reasker(
    replay_options: ReplayOptions, config: Config, flags: Mapping[str, Any], state: RunState
) -> AsyncIterator[RoleReasker | None]:
    """Open the client that asks a role again; None if no role is to be asked or no model is configured for it.

    Raises:
        EnvironmentProblem: a model or its credentials are not there.
    """
    role = replay_options.only
    if role is None or replay_options.offline:
        yield None
        return
    changed_config = _replace_model(config, role, replay_options.model, flags)
    models = {name: settings.model for name, settings in iterate_configured_models(changed_config.roles)}
    own_names = [name for name in models if name.partition(".")[0] == role]
    if not any(map(models.get, own_names)):
        yield None
        return
    async with ModelRouter(Path(), connect=partial(options.build_litellm_client, changed_config)) as router:
        if problems := await find_model_problems(changed_config.roles, router, own_names):
            raise EnvironmentProblem("\n".join(problems))
        yield RoleReasker(
            role=role,
            client=RateLimitedClient(router, ProviderRegistry(options.build_provider_rules(changed_config))),
            settings=lambda request: get_model_settings(changed_config, state, request),
            policy=options.build_retry_policy(changed_config),
            budget=RunBudget(changed_config.budget),
            wanted=replay_options.calls,
        )


def _replace_model(config: Config, role: Role, model: str, flags: Mapping[str, Any]) -> Config:
    """Return the configuration with another model for one role, at its usual provider unless the flags name another."""
    if not model:
        return config
    values = config.model_dump(mode="json", by_alias=True)
    role_flags = flags.get("roles", {}).get(role, {})
    model_values: dict[str, Any] = {"model": model, "extra": role_flags.get("extra", {})}
    model_values |= {key: role_flags.get(key, "") for key in ("api_base", "api_key_env")}
    settings = values["roles"][role]
    settings.update(model_values)
    for variant in settings.get("variants", {}).values():
        variant.update(model_values)
    for lens in settings.get("lenses", {}).values():
        for key in (*model_values, "fallbacks"):
            lens.pop(key, None)
    return options.resolve_script_paths(Config.model_validate(values))
