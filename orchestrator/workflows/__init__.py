"""Workflow files that start runs on a forge: templates in which `@word@` stands for what a repository decides."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Literal

from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.errors import UsageProblem

ForgeKind = Literal["github", "gitlab"]
WORKFLOW_PATHS: Mapping[ForgeKind, str]
WORKFLOW_PATHS = {"github": ".github/workflows/orchestrate.yml", "gitlab": ".gitlab/orchestrate.yml"}
"""Where the file of each forge belongs in a repository."""
REQUIREMENTS_PATHS: Mapping[ForgeKind, str]
REQUIREMENTS_PATHS = {
    "github": ".github/orchestrate-requirements.txt",
    "gitlab": ".gitlab/orchestrate-requirements.txt",
}
"""Where the file belongs that pins what its jobs install."""
DISTRIBUTION = "orchestrate-goals"
"""The name under which pip installs Orchestrate; `orchestrate` is a project of somebody else."""
JOB_PYTHON = "3.12"
"""The version of Python that the jobs have."""
MODEL_KEY_SECRET = "ORCHESTRATE_MODEL_KEY"
"""The secret that holds the key where no model, and so no provider, is known yet."""
ROLES = ("planner", "worker", "judge")
_WORD = compile_lazily(r"@([a-z_]+)@")
_BLOCK = compile_lazily(r"^( *)@settings@$", re.MULTILINE)
_UNUSUAL = compile_lazily(r"[^ -~]|[\"\\]")
_HARD = compile_lazily(r"[^ -~]|['\\]")
_AFTER_MINUTES = 10
"""What a job takes before and after the work: setting up, draining, handing over."""


@dataclass(frozen=True)
class RoleModel:
    """The model of a role as a job needs it: its name, its endpoint, and the variables that hold the key.

    An empty `model` is named by a variable of the repository; `key_env` is a variable that is not the usual one.
    """

    role: str
    model: str = ""
    api_base: str = ""
    key_env: str = ""
    secrets: tuple[str, ...] = ()


@dataclass(frozen=True)
class WorkflowValues:
    """The values of a workflow file.

    `package` is what pip installs (empty: to be filled in by hand), `limit_s` the seconds that one job may work,
    `budget_usd` the dollars that a run may cost unless it is started with another number, `settings` further variables
    of the configuration.
    """

    package: str
    limit_s: int
    budget_usd: str
    models: tuple[RoleModel, ...]
    settings: tuple[tuple[str, str], ...] = ()

    @property
    def time_limit(self) -> str:
        """The time limit as the command line takes it."""
        hours, minutes = divmod(self.limit_s // 60, 60)
        return f"{hours}h{minutes:02}m" if hours else f"{minutes}m"

    @property
    def job_minutes(self) -> int:
        """The minutes that the job itself may take."""
        return -(-self.limit_s // 60) + _AFTER_MINUTES


def render_workflow(forge: ForgeKind, decided: WorkflowValues) -> str:
    """Return the text of the file.

    Raises:
        UsageProblem: a value cannot stand in such a file, because the forge would take it for an expression.
    """
    text = files(__name__).joinpath(f"{forge}.yml").read_text(encoding="utf-8")
    quote = _QUOTES[forge]
    words = {"package": quote(decided.package), "limit": decided.time_limit, "minutes": str(decided.job_minutes)}
    words |= {"python": JOB_PYTHON, "requirements": REQUIREMENTS_PATHS[forge]}
    words |= {"budget": quote(decided.budget_usd), "budget_text": decided.budget_usd}
    lines = [*_render_models(forge, decided.models), *_render_settings(forge, decided.settings)]
    text = _BLOCK.sub(lambda match: "\n".join(match[1] + line for line in lines), text)
    return _WORD.sub(lambda match: words[match[1]], text)


def _github(value: str) -> str:
    if "${{" in value:
        raise UsageProblem(f"{value!r} cannot stand in a workflow file: GitHub would take ${{{{ for an expression")
    return _quoted(value)


def _gitlab(value: str) -> str:
    return _quoted(value.replace("$", "$$"))


def _quoted(value: str) -> str:
    """Return the text in YAML's quotes, with escapes for what could end them or is no text to a parser."""
    if '"' in value and not _HARD.search(value):
        return f"'{value}'"
    return '"' + _UNUSUAL.sub(lambda found: f"\\U{ord(found[0]):08x}", value) + '"'


_QUOTES = {"github": _github, "gitlab": _gitlab}


def _render_models(forge: ForgeKind, models: tuple[RoleModel, ...]) -> list[str]:
    """Return the lines of the models, on GitHub with the keys: GitLab gives a job its secrets by itself."""
    quote, variable, secrets = _QUOTES[forge], "$ORCHESTRATE_MODEL", []
    if forge == "github":
        variable, secrets = "${{ vars.ORCHESTRATE_MODEL }}", list_secrets(models)
    lines = [f"{name}: {quote(value)}" for name, value in _settings(models)]
    for role in sorted(set(ROLES) - {one.role for one in models if one.model}, key=ROLES.index):
        lines.append(f"{_variable(role, 'model')}: {variable}")
    return lines + [f"{name}: ${{{{ secrets.{name} }}}}" for name in secrets]


def _render_settings(forge: ForgeKind, settings: tuple[tuple[str, str], ...]) -> list[str]:
    """Return the lines of further settings: budgets, prices, dependencies."""
    return [f"{name}: {_QUOTES[forge](value)}" for name, value in settings]


def _settings(models: tuple[RoleModel, ...]) -> list[tuple[str, str]]:
    told = []
    for one in models:
        key_env = one.key_env or ("" if one.model else MODEL_KEY_SECRET)
        values = {"model": one.model, "api_base": one.api_base, "api_key_env": key_env}
        told += [(_variable(one.role, key), value) for key, value in values.items() if value]
    return told


def list_secrets(models: tuple[RoleModel, ...]) -> list[str]:
    """Return the names of the secrets that the models' keys have to be in, sorted."""
    return sorted({name for one in models for name in (one.secrets if one.model else (MODEL_KEY_SECRET,))})


def _variable(role: str, key: str) -> str:
    return f"ORCHESTRATE__ROLES__{role.upper()}__{key.upper()}"
