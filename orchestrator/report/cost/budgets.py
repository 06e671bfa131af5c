"""Compute how far every budget of a run is used."""

from functools import reduce
from typing import get_args

from pydantic import ValidationError

from orchestrator.config.layers import merge_settings
from orchestrator.config.model import BudgetSettings
from orchestrator.domain.budget.accounts import Accounts
from orchestrator.domain.budget.limits import Account
from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.chat import Role
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.validation_problems import describe_first_problem
from orchestrator.errors import UsageProblem
from orchestrator.report.cost.model import AccountUsage, Amount, BudgetUsage, LimitFields, ShortAmount


def get_budget_limits(state: RunState) -> BudgetSettings:
    """Return the budgets of the run, with what a person changed since its start.

    Raises:
        UsageProblem: they are no budgets; says which key is wrong.
    """
    changes = (change.get("budget", {}) for change in state.overrides)
    values = reduce(merge_settings, changes, state.run.settings.get("budget", {}))
    try:
        return BudgetSettings.model_validate(values)
    except ValidationError as error:
        raise UsageProblem(f"budget of run {state.run.run}: {describe_first_problem(error)}") from error


def may_spend_without_limit(state: RunState) -> bool:
    """Return True if the run calls models and no budget bounds dollars, tokens or calls of the run."""
    recipe = state.migration.recipe
    limit = get_budget_limits(state)
    return (recipe is None or recipe.needs_models) and not (limit.usd or limit.tokens or limit.calls)


def is_bounded_by_time(state: RunState) -> bool:
    """Return True if a budget of wall time or a time limit ends the run some day."""
    time_limit_s = 0.0
    for settings in (state.run.settings, *state.overrides):
        time_limit_s = settings.get("run", {}).get("time_limit_s", time_limit_s)
    return bool(time_limit_s or get_budget_limits(state).wall_s)


def build_accounts(state: RunState) -> Accounts:
    """Return the run's accounts under those budgets."""
    return Accounts(state, get_budget_limits(state))


def build_usage_amount(usage: Usage) -> Amount:
    """Return an amount of usage."""
    return Amount.model_validate(usage, from_attributes=True)


def _build_short_amount(usage: Usage) -> ShortAmount:
    return ShortAmount.model_validate(usage, from_attributes=True)


def build_account_usage(account: Account) -> AccountUsage:
    """Return one budget and how far it is used."""
    limit = account.limit
    return AccountUsage(
        spent=_build_short_amount(account.spent),
        at_risk=_build_short_amount(account.at_risk),
        reserved=_build_short_amount(account.reserved),
        wall_s=round(account.wall_s, 1),
        limit=LimitFields(
            usd=limit.usd or None, tokens=limit.tokens or None, calls=limit.calls or None, wall_s=limit.wall_s or None
        ),
    )


def build_budgets(state: RunState) -> BudgetUsage:
    """Return the budgets of the run, and of the roles and models that have one or were asked."""
    limits, accounts = get_budget_limits(state), build_accounts(state)
    known = {*limits.roles, *state.spend.by_role, *state.spend.at_risk_by_role}
    roles: list[Role] = [role for role in get_args(Role) if role in known]
    models = sorted({*limits.models, *state.spend.by_model, *state.spend.at_risk_by_model})
    return BudgetUsage(
        **dict(build_account_usage(accounts.get_run_account())),
        held_back=limits.reserve,
        roles={role: build_account_usage(accounts.get_role_account(role)) for role in roles},
        models={model: build_account_usage(accounts.get_model_account(model)) for model in models},
    )
