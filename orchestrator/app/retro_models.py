"""The model that a retrospective asks for changes of prompts: the judge's."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from orchestrator.config.model import BudgetSettings, Config
from orchestrator.errors import EnvironmentProblem
from orchestrator.llm.budget import RunBudget
from orchestrator.llm.router import ModelRouter
from orchestrator.llm.throttling.providers import ProviderRegistry, RateLimitedClient
from orchestrator.ports.prompt_edits import PromptEditor
from orchestrator.project import options
from prompts import PromptSource
from roles.configured_models import find_model_problems
from roles.prompt_editor import ModelPromptEditor


@asynccontextmanager
async def open_prompt_editor(
    config: Config, budget: BudgetSettings, prompts: PromptSource
) -> AsyncIterator[PromptEditor]:
    """Open the client of the judge's model, under a budget.

    Raises:
        EnvironmentProblem: the model or its credentials are not there.
    """
    async with ModelRouter(Path(), connect=partial(options.build_litellm_client, config)) as router:
        if problems := await find_model_problems(config.roles, router, ("judge",)):
            unless = "or leave proposals out with --no-model"
            raise EnvironmentProblem("\n".join((*problems, unless)))
        yield ModelPromptEditor(
            client=RateLimitedClient(router, ProviderRegistry(options.build_provider_rules(config))),
            settings=config.roles.judge,
            policy=options.build_retry_policy(config),
            budget=RunBudget(budget),
            prompts=prompts,
        )
