"""Check that the budget can be kept: a limit in dollars bounds only models whose price is known."""

from collections.abc import Iterator, Sequence
from typing import get_args

from anyio import to_thread

from orchestrator.config.model import BudgetSettings, Config
from orchestrator.doctor.finding import DoctorFinding
from orchestrator.domain.budget.limits import Limit
from orchestrator.domain.chat import Role
from orchestrator.domain.text.listing import join_limited
from orchestrator.domain.text.money import format_exact_dollars
from orchestrator.llm.litellm_adapter.pricing import find_installed_price
from orchestrator.llm.scripted_model.script import SCRIPTED_PREFIX
from roles.configured_models import iterate_configured_models

_STATING_PROVIDERS = frozenset({"litellm_proxy", "openrouter", "vercel_ai_gateway"})
"""Gateways that say with each reply what it cost."""
_SHOWN = 3


async def check_budget(config: Config) -> Sequence[DoctorFinding]:
    """Return each limit in dollars that a model of unknown price breaks; without one, what limits the spending.

    There is nothing to return where no model is configured.
    """
    unpriced = await to_thread.run_sync(_list_unpriced_models, config)
    problems = []
    for name, limit, models in _iterate_limits(config.budget, unpriced):
        if models and not limit.bounds_unpriced:
            problems.append(_describe_unkept_limit(name, limit, models))
    if problems:
        return [DoctorFinding("budget", False, problem) for problem in problems]
    if any(settings.model for _, settings in iterate_configured_models(config.roles)):
        return [_describe_budget(config.budget)]
    return []


def _list_unpriced_models(config: Config) -> dict[str, set[Role]]:
    """Return the models whose price nobody knows before a call, with the roles that ask them. Blocks."""
    found: dict[str, set[Role]] = {}
    for name, settings in iterate_configured_models(config.roles):
        model = settings.model
        if not model or model.startswith(SCRIPTED_PREFIX) or model.partition("/")[0] in _STATING_PROVIDERS:
            continue
        if model not in config.prices and find_installed_price(model) is None:
            for role in get_args(Role):
                if name.partition(".")[0] == role:
                    found.setdefault(model, set()).add(role)
    return found


def _iterate_limits(budget: BudgetSettings, unpriced: dict[str, set[Role]]) -> Iterator[tuple[str, Limit, list[str]]]:
    """Yield every limit by its place in the configuration, with the unpriced models whose calls it covers."""
    models = sorted(unpriced)
    yield "[budget]", budget, models
    of_tasks: set[Role] = {"worker", "judge", "verifier", "arbiter"}
    yield "[budget.leaf]", budget.leaf, [model for model in models if unpriced[model] & of_tasks]
    yield "[budget.branch]", budget.branch, models
    for role, limit in budget.roles.items():
        yield f"[budget.roles.{role}]", limit, [model for model in models if role in unpriced[model]]
    for model, limit in budget.models.items():
        yield f'[budget.models."{model}"]', limit, [one for one in models if one == model]


def _describe_unkept_limit(name: str, limit: Limit, models: Sequence[str]) -> str:
    return (
        f"the {format_exact_dollars(limit.usd)} of {name} cannot be kept, since nobody knows the price of "
        f"{join_limited(models, _SHOWN)}: the run would stop after its first call. Set tokens beside usd, or the price "
        f'([prices."{models[0]}"])'
    )


def _describe_budget(budget: BudgetSettings) -> DoctorFinding:
    limits = []
    if budget.usd:
        limits.append(format_exact_dollars(budget.usd))
    if budget.tokens:
        limits.append(f"{budget.tokens:,} tokens")
    if budget.calls:
        limits.append(f"{budget.calls:,} calls")
    if limits:
        return DoctorFinding("budget", True, f"{', '.join(limits)} for a run")
    text = "a run may spend without limit: set --budget-usd, or usd, tokens or calls under [budget]"
    return DoctorFinding("budget", False, text, is_warning=True)
