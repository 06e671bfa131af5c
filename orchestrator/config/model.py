"""The configuration as one strict, frozen model. `config.toml` in the top directory explains every key."""

from typing import Annotated, Any

from pydantic import Field, model_validator

from orchestrator.domain.base import Frozen
from orchestrator.domain.check import CheckSpec, ReportFormat

Positive = Annotated[int, Field(ge=1)]
NotNegative = Annotated[int, Field(ge=0)]
Seconds = Annotated[float, Field(gt=0)]


class RunSettings(Frozen):
    """`[run]`"""

    max_workers: Positive
    max_attempts: Positive
    max_iterations: Positive
    time_limit_s: Annotated[float, Field(ge=0)]


class PlanSettings(Frozen):
    """`[plan]`"""

    max_depth: Annotated[int, Field(ge=1, le=8)]
    max_children: Positive
    max_rounds: Positive


class GateSettings(Frozen):
    """`[gate]`"""

    command: str
    report: ReportFormat
    timeout_s: Seconds

    def checks(self) -> tuple[CheckSpec, ...]:
        """The gate as checks; empty when no command is configured."""
        if not self.command.strip():
            return ()
        return (CheckSpec(id="gate", run=self.command, report=self.report, timeout_s=self.timeout_s),)


class ModelSettings(Frozen):
    """Which model a role speaks with, and how. Empty strings, zeros and a negative temperature mean "not set"."""

    model: str
    api_base: str
    api_key_env: str
    temperature: float
    max_output_tokens: NotNegative
    timeout_s: Seconds
    max_turns: Positive
    context_tokens: Annotated[int, Field(ge=4_000)]
    description: str = ""


class WorkerSettings(ModelSettings):
    """`[roles.worker]`: the usual worker and the variants a planner may ask for."""

    variants: dict[str, ModelSettings] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _variants_inherit(cls, data: dict[str, Any]) -> dict[str, Any]:
        base = {key: value for key, value in data.items() if key not in {"variants", "description"}}
        variants = data.get("variants", {})
        if not isinstance(variants, dict):
            return data
        merged = {name: base | own if isinstance(own, dict) else own for name, own in variants.items()}
        return data | {"variants": merged}

    def variant(self, name: str | None) -> ModelSettings:
        """The settings for a variant, or the usual worker's."""
        return self.variants[name] if name else self


class RoleSettings(Frozen):
    """`[roles]`"""

    planner: ModelSettings
    worker: WorkerSettings
    judge: ModelSettings


class BudgetSettings(Frozen):
    """`[budget]`; 0 means no limit."""

    usd: Annotated[float, Field(ge=0)]
    tokens: NotNegative
    calls: NotNegative


class RetrySettings(Frozen):
    """`[retry]`"""

    tries: Positive
    base_s: Seconds
    cap_s: Seconds
    retry_after_cap_s: Seconds
    timeout_tries: Positive
    deadline_s: Seconds
    concurrency: Positive


class HandsSettings(Frozen):
    """`[hands]`"""

    read_only: tuple[str, ...]
    command_timeout_s: Seconds
    output_mb: Positive
    memory_mb: NotNegative
    processes: Positive
    file_mb: Positive
    uid: Positive
    slots: NotNegative


class EnvSettings(Frozen):
    """`[env]`"""

    share: tuple[str, ...]
    vars: dict[str, str]


class PrSettings(Frozen):
    """`[pr]`"""

    target: str
    prefix: str


class StateSettings(Frozen):
    """`[state]`"""

    dir: str


class GcSettings(Frozen):
    """`[gc]`; 0 means no limit. Runs that began before there was this table have none in their settings."""

    keep_days: NotNegative = 30
    keep_runs: NotNegative = 0
    runs: bool = False


class Config(Frozen):
    """Everything a run is configured with."""

    schema_version: Annotated[int, Field(alias="schema", ge=1, le=1)]
    run: RunSettings
    plan: PlanSettings
    gate: GateSettings
    roles: RoleSettings
    budget: BudgetSettings
    retry: RetrySettings
    hands: HandsSettings
    env: EnvSettings
    pr: PrSettings
    state: StateSettings
    gc: GcSettings = Field(default_factory=GcSettings)
