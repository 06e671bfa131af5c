"""How far every budget of a run is used, as data."""

from functools import reduce
from typing import Any, get_args

from orchestrator.config.layers import merge_settings
from orchestrator.config.model import BudgetSettings
from orchestrator.domain.budget.accounts import Accounts
from orchestrator.domain.budget.limits import Account
from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.chat import Role
from orchestrator.domain.run.state import RunState

_LIMITS = ("usd", "tokens", "calls", "wall_s")


def get_budget_limits(state: RunState) -> BudgetSettings:
    """The budgets of the run as they stand."""
    changes = (change.get("budget", {}) for change in state.overrides)
    return BudgetSettings.model_validate(reduce(merge_settings, changes, state.run.settings.get("budget", {})))


def build_accounts(state: RunState) -> Accounts:
    """The run's accounts under its budgets as they stand."""
    return Accounts(state, get_budget_limits(state))


def build_usage_amount(usage: Usage) -> dict[str, Any]:
    """An amount: `usd` is None when part of it has no known price, `usd_known` is the part that has one."""
    return {
        "usd": None if usage.unpriced_calls else float(usage.cost_usd),
        "usd_known": float(usage.cost_usd),
        "unpriced_calls": usage.unpriced_calls,
        "tokens": usage.tokens,
        "calls": usage.calls,
    }


def _short(usage: Usage) -> dict[str, Any]:
    return {name: value for name, value in build_usage_amount(usage).items() if name != "unpriced_calls"}


def build_account_usage(account: Account) -> dict[str, Any]:
    """One budget: `limit` holds only what is limited, and is empty when nothing is."""
    return {
        "spent": _short(account.spent),
        "at_risk": _short(account.at_risk),
        "reserved": _short(account.reserved),
        "wall_s": round(account.wall_s, 1),
        "limit": {name: value for name in _LIMITS if (value := getattr(account.limit, name))},
    }


def build_budgets(state: RunState) -> dict[str, Any]:
    """The budgets of the run, and of the roles and models that have one or were asked."""
    limits, accounts = get_budget_limits(state), build_accounts(state)
    known = {*limits.roles, *state.spent_by_role, *state.at_risk_by_role}
    roles: list[Role] = [role for role in get_args(Role) if role in known]
    models = sorted({*limits.models, *state.spent_by_model, *state.at_risk_by_model})
    return {
        **build_account_usage(accounts.get_run_account()),
        "held_back": limits.reserve,
        "roles": {role: build_account_usage(accounts.get_role_account(role)) for role in roles},
        "models": {model: build_account_usage(accounts.get_model_account(model)) for model in models},
    }
