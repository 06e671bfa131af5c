"""Build the workflow file of a forge for a project: models, budgets and prices of the user's configuration go along."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from orchestrator import workflows
from orchestrator.config.model import Config
from orchestrator.config.roles import ModelSettings
from orchestrator.domain.budget.limits import Limit, RunLimits
from orchestrator.domain.text.money import UNLIMITED
from orchestrator.llm.litellm_adapter.credentials import get_key_variable
from orchestrator.llm.router import ModelRouter
from orchestrator.llm.scripted_model.script import SCRIPTED_PREFIX
from orchestrator.project.options import ProjectContext
from orchestrator.scaffold.environment import find_variables, survey_project

_BUDGET_USD = "10"
"""Dollars of a run where the configuration limits nothing that a job could go by."""


@dataclass(frozen=True)
class Workflow:
    """The text of a workflow file, and what a person has to do before it works."""

    text: str
    to_do: tuple[str, ...]


async def build_workflow(project: ProjectContext, forge: workflows.ForgeKind, package: str, limit_s: int) -> Workflow:
    """Return the workflow file; `package` is what its jobs install (empty: as it was installed here).

    Raises:
        UsageProblem: a value cannot stand in such a file.
    """
    config, package = project.config, package or find_install_spec()
    models = build_role_models(config)
    environment, advice = await _build_environment(project)
    settings = (*_iterate_budgets(config.budget), *_iterate_prices(config), *environment)
    budget_usd = choose_budget_usd(config.budget)
    values = workflows.WorkflowValues(package, limit_s, budget_usd, models, settings)
    to_do = []
    if not package:
        to_do.append("say in the file what pip is to install: ORCHESTRATE_PACKAGE (or --package)")
    to_do += _list_model_tasks(models)
    to_do += await _list_price_tasks(config, budget_usd)
    if not config.gate.command:
        to_do.append("the project has no gate command, without which nothing can land: orchestrate init")
    return Workflow(workflows.render_workflow(forge, values), (*to_do, *advice, *_AFTER[forge]))


_AFTER: dict[workflows.ForgeKind, tuple[str, ...]] = {
    "github": (
        "set the secret ORCHESTRATE_TOKEN, of an app or a person, if pull requests are to start your CI",
        "commit it to the default branch, then: Actions > Orchestrate > Run workflow",
    ),
    "gitlab": (
        "set ORCHESTRATE_TOKEN, a project access token, for the environment orchestrate/publish alone",
        "include it in .gitlab-ci.yml: include: [{local: .gitlab/orchestrate.yml}]",
    ),
}


def _list_model_tasks(models: tuple[workflows.RoleModel, ...]) -> Iterator[str]:
    """Yield what has to be set for the models to be asked."""
    if any(not model.model for model in models):
        yield "set the variable ORCHESTRATE_MODEL of the repository, for example to anthropic/claude-sonnet-4-5"
    for name in workflows.list_secrets(models):
        yield f"set the secret {name}"
    for model in models:
        if model.model and not model.secrets and not model.api_base:
            yield f"{model.model}: its provider takes its keys otherwise; add them"


async def _list_price_tasks(config: Config, budget_usd: str) -> list[str]:
    """Return what to add for models whose price nobody knows, where only dollars would limit a run."""
    if budget_usd == UNLIMITED or config.budget.tokens or config.budget.calls:
        return []
    to_do = []
    async with ModelRouter(Path()) as router:
        for model in dict.fromkeys(model.model for model in build_role_models(config)):
            is_priced = not model or model.startswith(SCRIPTED_PREFIX) or model in config.prices
            if not is_priced and await router.find_price(model) is None:
                to_do.append(
                    f"nobody knows the price of {model}, so a budget of ${budget_usd} ends a run after its first call: "
                    f"add [prices.{json.dumps(model)}], or tokens under [budget], to your configuration, and write "
                    "the file again (--force)"
                )
    return to_do


def choose_budget_usd(limits: RunLimits) -> str:
    """Return the dollars of a run: as configured, none beside a limit in tokens or calls, or else a first guess."""
    if limits.usd:
        return f"{limits.usd:g}"
    return UNLIMITED if limits.tokens or limits.calls else _BUDGET_USD


def _iterate_budgets(limits: RunLimits) -> Iterator[tuple[str, str]]:
    """Yield the limits beside the dollars of a run, as variables of the configuration."""
    values = _dump_limit(limits)
    values.pop("usd", None)
    if limits.reserve != RunLimits().reserve:
        values["reserve"] = limits.reserve
    for name in ("leaf", "branch"):
        values[name] = _dump_limit(getattr(limits, name))
    for name in ("roles", "models"):
        values[name] = {key: _dump_limit(limit) for key, limit in getattr(limits, name).items()}
    for name, value in values.items():
        if value:
            yield f"ORCHESTRATE__BUDGET__{name.upper()}", json.dumps(value)


def _dump_limit(limit: Limit) -> dict[str, Any]:
    """Return the amounts that a limit sets."""
    values = limit.model_dump(include=set(Limit.model_fields))
    return {name: value for name, value in values.items() if value}


def _iterate_prices(config: Config) -> Iterator[tuple[str, str]]:
    """Yield the prices of the roles' models as one variable: a model's name cannot be part of a variable's."""
    prices = {}
    for role in workflows.ROLES:
        model = getattr(config.roles, role).model
        if model in config.prices:
            amounts = config.prices[model].model_dump(by_alias=True, exclude_none=True)
            prices[model] = {name: float(amount) for name, amount in amounts.items()}
    if prices:
        yield "ORCHESTRATE__PRICES", json.dumps(prices)


async def _build_environment(project: ProjectContext) -> tuple[list[tuple[str, str]], list[str]]:
    """Return settings by which a job makes the environment that its clone lacks, and what a person has to do for it."""
    if project.config.env.deps:
        return [], []
    findings, refusal = await survey_project(project.repository)
    if not findings.deps or refusal:
        if not findings.environments:
            return [], []
        names = ", ".join(findings.environments)
        return [], [
            f"a job's clone has no {names}: name what is to be installed in deps under [env] of orchestrate.toml"
        ]
    settings = [("ORCHESTRATE__ENV__DEPS", json.dumps(findings.deps))]
    if variables := find_variables(findings):
        settings.append(("ORCHESTRATE__ENV__VARS", json.dumps(variables)))
    names = ", ".join(findings.deps)
    return settings, [f"its jobs install {names}, for a job's clone has no environment; change ORCHESTRATE__ENV__DEPS"]


def build_role_models(config: Config) -> tuple[workflows.RoleModel, ...]:
    """Return the models of the roles, as a job has to know them."""
    return tuple(_build_role_model(name, getattr(config.roles, name)) for name in workflows.ROLES)


def _build_role_model(role: str, settings: ModelSettings) -> workflows.RoleModel:
    key = settings.api_key_env
    if not key and not settings.api_base:
        key = get_key_variable(settings.model)
    return workflows.RoleModel(role, settings.model, settings.api_base, settings.api_key_env, (key,) if key else ())


def find_install_spec() -> str:
    """Return the pip requirement of this Orchestrate (PEP 610); empty if another machine could not install it."""
    try:
        installed = distribution(workflows.DISTRIBUTION)
    except PackageNotFoundError:
        return ""
    origin = installed.read_text("direct_url.json")
    if origin is None:
        return f"{workflows.DISTRIBUTION}=={installed.version}"
    url_record = json.loads(origin)
    vcs = url_record.get("vcs_info", {})
    is_pinned = vcs.get("vcs") and vcs.get("commit_id") and "://" in url_record["url"] and "@" not in url_record["url"]
    is_remote = is_pinned and not url_record["url"].startswith("file:")
    return f"{vcs['vcs']}+{url_record['url']}@{vcs['commit_id']}" if is_remote else ""
