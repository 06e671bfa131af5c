"""The roles on the models of a configuration: who asks them, under which limits, from which sources."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import cast

from orchestrator.agent.model_calls import ModelCaller
from orchestrator.config.model import BudgetSettings, Config
from orchestrator.domain.chat import Role
from orchestrator.domain.event.run import Noticed
from orchestrator.domain.ids import TaskId
from orchestrator.domain.run.state import RunState
from orchestrator.journal.journal import SystemClock
from orchestrator.llm.budget import RunBudget
from orchestrator.llm.router import ModelRouter
from orchestrator.llm.throttling.providers import UNLIMITED_RULES, ProviderRegistry
from orchestrator.ports.hooks import NO_HOOKS, Hooks
from orchestrator.ports.ledger import Ledger
from orchestrator.ports.model_client import ModelClient
from orchestrator.ports.tier_grants import DEFAULT_TIER_GRANTS, TierGrants
from orchestrator.project.options import build_provider_rules, build_retry_policy
from roles.role_context import AgentSources, RoleContext


def list_provider_pauses(state: RunState) -> Iterator[Noticed]:
    """Yield a notice for each pause that a provider asked for in an earlier process and that still holds."""
    for pool, until in state.spend.provider_pauses.items():
        if until > SystemClock().now():
            when = f"{until.astimezone():%Y-%m-%d %H:%M:%S %z}"
            yield Noticed(level="info", text=f"{pool} asked not to be called before {when}")


def build_role_context(
    config: Config,
    ledger: Ledger,
    router: ModelRouter,
    hooks: Hooks = NO_HOOKS,
    budgets: Callable[[], BudgetSettings] | None = None,
    tier_grants: TierGrants = DEFAULT_TIER_GRANTS,
    *,
    sources: AgentSources,
) -> RoleContext:
    """Return the context of the roles on the configured models.

    `budgets` returns the current limits, where they may change during the run.
    """
    providers = ProviderRegistry(build_provider_rules(config), dict(ledger.state.spend.provider_pauses))
    caller = ModelCaller(router, ledger, build_retry_policy(config), RunBudget(config.budget, budgets), providers)
    return _join_context(config, ledger, caller, hooks, tier_grants, sources)


def build_unlimited_context(
    config: Config, ledger: Ledger, client: ModelClient, hooks: Hooks, tier_grants: TierGrants, sources: AgentSources
) -> RoleContext:
    """Return the context of the roles on one client for all, such as that of a replay, which no provider limits."""
    budget, providers = RunBudget(config.budget), ProviderRegistry(UNLIMITED_RULES)
    caller = ModelCaller(client, ledger, build_retry_policy(config), budget, providers)
    return _join_context(config, ledger, caller, hooks, tier_grants, sources)


def _join_context(
    config: Config, ledger: Ledger, caller: ModelCaller, hooks: Hooks, tier_grants: TierGrants, sources: AgentSources
) -> RoleContext:
    return RoleContext(
        config,
        ledger,
        caller,
        hooks,
        sources.prompts,
        tier_grants,
        sources.rules,
        sources.codebase,
        sources.has_memory,
        sources.policy,
        sources.servers,
    )


def count_model_replies(state: RunState) -> Mapping[str, Mapping[tuple[Role, TaskId], int]]:
    """Return how many answers and failures each role and task has had, by configured model, so that scripts go on."""
    counts: dict[str, Counter[tuple[Role, TaskId]]] = {}
    for answered, count in state.spend.answer_counts.items():
        role, task, model = answered.split(" ", 2)
        counts.setdefault(model, Counter())[cast(Role, role), TaskId(task)] += count
    return counts
