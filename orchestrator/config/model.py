"""The configuration as one strict, frozen model. `config.toml` in the top directory explains every key."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from orchestrator.config.addresses import ForgeUrl, HostPort
from orchestrator.config.agent_words import MapSettings, PromptSettings, RulesSettings
from orchestrator.config.labels import Labels
from orchestrator.config.mcp import McpConfig
from orchestrator.config.policy_file import PolicySettings
from orchestrator.config.quantities import MAX_SECONDS, NotNegative, Positive, Seconds, SecondsOrNone
from orchestrator.config.roles import RoleSettings
from orchestrator.config.sections.hosts import HostsSettings
from orchestrator.config.sections.memory import MemorySettings
from orchestrator.config.sections.merging import MergeSettings
from orchestrator.config.sections.telemetry import TelemetrySettings
from orchestrator.config.sections.tui import TuiSettings
from orchestrator.domain.budget.limits import RunLimits
from orchestrator.domain.budget.price import Price
from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.hooks import Hook
from orchestrator.domain.ids import CRITERION_ID_PATTERN, TaskId
from orchestrator.domain.judging.check import CheckSpec, ReportFormat
from orchestrator.domain.run.approval import ApprovalDefault
from orchestrator.domain.run.contract import GATE_CRITERION, GOAL_CRITERION, Criterion
from orchestrator.domain.sandbox.tier import Tier
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.domain.text.user_pattern import compile_user_pattern

NOTIFY_ON = ("run.ended", "run.paused", "approval.requested")
_CO_AUTHOR = compile_lazily(r"[^\s<>](?:[^<>]*[^\s<>])? <[^\s<>@]+@[^\s<>@]+>")


class RunSettings(FrozenModel):
    """`[run]`"""

    max_workers: Positive
    max_attempts: Positive
    max_iterations: Positive
    time_limit_s: SecondsOrNone
    session_tries: Positive = 1
    lease_s: Annotated[float, Field(ge=2, le=MAX_SECONDS)] = 60
    labels: Labels = Field(default_factory=dict)


class PlanSettings(FrozenModel):
    """`[plan]`"""

    max_depth: Annotated[int, Field(ge=1, le=8)]
    max_children: Positive
    max_rounds: Positive
    debounce_s: Seconds = 30.0
    max_planners: Positive = 8
    grant_requests: NotNegative = 2
    max_best_of: Positive = 3
    beside_baseline: bool = True


class ApprovalSettings(FrozenModel):
    """`[approval]`"""

    mode: Literal["auto", "review", "pr"] = "auto"
    max_files: NotNegative = 20
    max_lines: NotNegative = 500
    max_tasks: NotNegative = 12
    paths: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    budget_factor: Annotated[float, Field(ge=0)] = 2
    expires_s: SecondsOrNone = 0
    default: ApprovalDefault = "reject"
    red_gate: Literal["ask", "go-on"] = "ask"


class GateSettings(FrozenModel):
    """`[gate]`"""

    command: str
    report: ReportFormat
    timeout_s: Seconds
    reruns: NotNegative = 40
    rerun_s: Seconds = 900.0
    repeats: bool = True
    mutants: NotNegative = 0
    canaries: bool = True
    new_tests: Literal["red", "flag", "off"] = "red"
    reuse_days: Annotated[int, Field(ge=0, le=366)] = 0
    reuse_mb: Positive = 256

    def build_checks(self) -> tuple[CheckSpec, ...]:
        """Return the gate as checks; empty when no command is configured."""
        if not self.command.strip():
            return ()
        return (CheckSpec(id="gate", run=self.command, report=self.report, timeout_s=self.timeout_s),)


class BudgetSettings(RunLimits):
    """`[budget]`; 0 means no limit, which users write as `unlimited`."""


class PriceSettings(Price):
    """`[prices."MODEL"]`, in dollars per million tokens; cached input costs as other input unless said otherwise."""

    model_config = ConfigDict(alias_generator="{}_per_mtok".format)


def _read_auto(value: object) -> object:
    """Return 0 for the word "auto"."""
    if value == "auto":
        return 0
    return value


Concurrency = Annotated[NotNegative, BeforeValidator(_read_auto)]
"""A number of calls under way; 0, which users may write as `auto`, follows another setting."""


class RetrySettings(FrozenModel):
    """`[retry]`. A `concurrency` of 0 follows `run.max_workers`, see `ProviderRules`."""

    tries: Positive
    base_s: Seconds
    cap_s: Seconds
    retry_after_cap_s: Seconds
    timeout_tries: Positive
    deadline_s: Seconds
    concurrency: Concurrency
    breaker_failures: Positive = 5
    breaker_pause_s: Seconds = 30.0
    max_reply_mb: Positive = 2


class ProviderSettings(FrozenModel):
    """`[providers."KEY"]`; 0 means no limit of its own, for `concurrency` the one under `[retry]`.

    An empty `pool` stands for one of the provider's own name.
    """

    rpm: NotNegative = 0
    tpm: NotNegative = 0
    concurrency: Concurrency = 0
    pool: str = ""
    judge_reserve: Annotated[float, Field(ge=0, lt=1)] = 0.05


class HandsSettings(FrozenModel):
    """`[hands]`"""

    read_only: tuple[str, ...]
    command_timeout_s: Seconds
    output_mb: Positive
    memory_mb: NotNegative
    processes: Positive
    file_mb: Positive
    uid: Annotated[int, Field(ge=1, lt=2**32 - 1)]
    slots: NotNegative
    backend: Literal["auto", "bubblewrap", "container"] = "auto"
    ask_tier: Tier = Tier.REGISTRIES
    tiers: dict[TaskId, Tier] = Field(default_factory=dict)
    total_memory_mb: NotNegative = 0
    cpu_s: NotNegative = 0
    disk_mb: NotNegative = 8192
    registries: tuple[HostPort, ...] = ()
    private_registries: tuple[HostPort, ...] = ()
    plain_registries: tuple[HostPort, ...] = ()
    registry_mb: Positive = 2048
    without_sandbox: bool = False


class EnvSettings(FrozenModel):
    """`[env]`"""

    share: tuple[str, ...]
    vars: dict[str, str]
    writable: tuple[str, ...] = ()
    deps: tuple[str, ...] = ()


class PrSettings(FrozenModel):
    """`[pr]`"""

    target: str
    prefix: str
    push: Annotated[str, Field(pattern=r"^([A-Za-z0-9][A-Za-z0-9_./-]*)?$")] = ""
    forge: Literal["local", "github"] = "local"
    url: ForgeUrl = "https://api.github.com"
    repository: Annotated[str, Field(pattern=r"^([A-Za-z0-9_-]+/[A-Za-z0-9._-]+)?$")] = ""
    token_env: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")] = "GITHUB_TOKEN"
    checks_wait_s: SecondsOrNone = 0.0
    checks_poll_s: Seconds = 10.0
    merge: Literal["never", "when-green"] = "never"

    @model_validator(mode="after")
    def _check_merge_waits(self) -> Self:
        if self.merge == "when-green" and self.forge != "local" and not self.checks_wait_s:
            raise ValueError('merge = "when-green" needs checks_wait_s: nothing is green that nobody waited for')
        return self


def _check_identity_part(text: str) -> str:
    if text != text.strip() or not text.isprintable() or set(text) & set("<>"):
        raise ValueError(f"{text!r} cannot stand in a commit: one line without <, > and outer blanks")
    return text


IdentityPart = Annotated[str, AfterValidator(_check_identity_part)]


def _check_co_author(text: str) -> str:
    if text and (_CO_AUTHOR.fullmatch(text) is None or not text.isprintable()):
        raise ValueError(f"{text!r} names no co-author: write NAME <ADDRESS>, such as Ada Lovelace <ada@example.com>")
    return text


class CommitSettings(FrozenModel):
    """`[commits]`: whose the commits that land are, how they are signed, and how many a pull request has."""

    name: IdentityPart = ""
    email: IdentityPart = ""
    sign: Literal["never", "ssh", "openpgp"] = "never"
    key: Annotated[str, Field(pattern=r"^([^\s-].*)?$")] = ""
    squash: bool = False
    co_author: Annotated[str, AfterValidator(_check_co_author)] = ""

    @model_validator(mode="after")
    def _require_whole_identity(self) -> Self:
        if bool(self.name) != bool(self.email):
            raise ValueError("name and email go together: give both, or neither")
        return self


class NotifySettings(FrozenModel):
    """`[notify]`; without a channel nobody is notified. `webhook_env` names the variable that holds a URL."""

    command: str = ""
    dir: str = ""
    desktop: bool = False
    webhook_env: Annotated[str, Field(pattern=r"^([A-Za-z_][A-Za-z0-9_]*)?$")] = ""
    on: tuple[str, ...] = NOTIFY_ON
    quiet_s: SecondsOrNone = 0.0
    timeout_s: Seconds = 30.0

    @field_validator("dir")
    @classmethod
    def _require_absolute(cls, place: str) -> str:
        if place and not place.startswith(("/", "~")):
            raise ValueError(f"must be an absolute path or begin with ~, not {place}")
        return place

    @field_validator("on")
    @classmethod
    def _check_event_kinds(cls, kinds: tuple[str, ...]) -> tuple[str, ...]:
        if unusual := set(kinds) - set(NOTIFY_ON):
            _require_kinds(unusual)
        return kinds


def _require_kinds(wanted: set[str]) -> None:
    from orchestrator.domain.event import EVENT_CLASSES  # imported here because few configurations name events

    known = {kind for kind, _ in EVENT_CLASSES if not kind.startswith("notification.")}
    if unknown := sorted(wanted - known):
        raise ValueError(f"nobody can be notified of {', '.join(unknown)}; events are {', '.join(sorted(known))}")


class MigrateSettings(FrozenModel):
    """`[migrate]`"""

    cache: bool = True


class StateSettings(FrozenModel):
    """`[state]`"""

    dir: str


class CriterionSettings(FrozenModel):
    """`[[contract]]`: a criterion of every run of a goal, in words, by a command, or both."""

    id: Annotated[str, Field(pattern=rf"^{CRITERION_ID_PATTERN}$")]
    text: str = ""
    command: str = ""

    @model_validator(mode="after")
    def _require_content(self) -> "CriterionSettings":
        if self.id in {GOAL_CRITERION, GATE_CRITERION}:
            raise ValueError(f"every contract has a criterion {self.id}: choose another id")
        if not self.text.strip() and not self.command.strip():
            raise ValueError(f"the criterion {self.id} says nothing: give it a text, a command or both")
        return self

    def build_criterion(self) -> Criterion:
        """Return the criterion as the contract freezes it."""
        command = self.command.strip() or None
        return Criterion(id=self.id, text=self.text.strip() or f"`{command}` exits 0", command=command)


def _merge_criteria(criteria: tuple[CriterionSettings, ...]) -> tuple[CriterionSettings, ...]:
    """Return the criteria without repetitions from other layers; refuse two of the same id."""
    once = tuple(dict.fromkeys(criteria))
    names = [criterion.id for criterion in once]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"two criteria have the id {', '.join(twice)}")
    return once


def _drop_repeated_hooks(hooks: tuple[Hook, ...]) -> tuple[Hook, ...]:
    """Return the hooks without repetitions: from another layer, or given again at a resume."""
    return tuple(dict.fromkeys(hooks))


class GcSettings(FrozenModel):
    """`[gc]`; 0 means no limit. Runs that began before there was this table have none in their settings."""

    keep_days: Annotated[int, Field(ge=0, le=36_500)] = 30
    keep_runs: NotNegative = 0
    runs: bool = False


class RedactSettings(FrozenModel):
    """`[redact]`: what is taken out of texts beside what is found by itself."""

    env: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()

    @field_validator("patterns")
    @classmethod
    def _check_patterns(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        for pattern in patterns:
            try:
                compile_user_pattern(pattern)
            except ValueError as error:
                raise ValueError(f"{pattern!r}: {error}") from error
        return patterns


class Config(McpConfig):
    """Everything a run is configured with."""

    schema_version: Annotated[int, Field(alias="schema", ge=1, le=1)]
    run: RunSettings
    plan: PlanSettings
    gate: GateSettings
    approval: ApprovalSettings = ApprovalSettings()
    roles: RoleSettings
    budget: BudgetSettings
    retry: RetrySettings
    providers: dict[str, ProviderSettings] = Field(default_factory=dict)
    hands: HandsSettings
    env: EnvSettings
    pr: PrSettings
    commits: CommitSettings = CommitSettings()
    merge: MergeSettings = MergeSettings()
    state: StateSettings
    migrate: MigrateSettings = MigrateSettings()
    notify: NotifySettings = NotifySettings()
    tui: TuiSettings = TuiSettings()
    hooks: Annotated[tuple[Hook, ...], AfterValidator(_drop_repeated_hooks)] = ()
    contract: Annotated[tuple[CriterionSettings, ...], AfterValidator(_merge_criteria)] = ()
    prices: dict[str, PriceSettings] = Field(default_factory=dict)
    map: MapSettings = Field(default_factory=MapSettings)
    gc: GcSettings = Field(default_factory=GcSettings)
    redact: RedactSettings = Field(default_factory=RedactSettings)
    rules: RulesSettings = Field(default_factory=RulesSettings)
    memory: MemorySettings = Field(default_factory=MemorySettings)
    prompts: PromptSettings = Field(default_factory=PromptSettings)
    policy: PolicySettings = Field(default_factory=PolicySettings)
    telemetry: TelemetrySettings = Field(default_factory=TelemetrySettings)
    hosts: HostsSettings = Field(default_factory=HostsSettings)
