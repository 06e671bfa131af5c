"""`[engines]`: agents of other makers that work in the place of a worker, and what each of them may reach."""

import math
import re
from decimal import Decimal
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, field_validator, model_validator

from orchestrator.config.quantities import NotNegative, Positive, Seconds
from orchestrator.config.roles import RoleSettings
from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.sandbox.tier import Tier
from orchestrator.domain.text.lazy_pattern import compile_lazily

LOOP = "loop"
"""The engine of workers that are models in the house's own loop."""
_HOST_PORT = compile_lazily(r"([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\]):[0-9]{1,5}")
_VARIABLE = compile_lazily(r"[A-Za-z_][A-Za-z0-9_]*")
_MAX_USD = 100_000


def _check_host(text: str) -> str:
    if _HOST_PORT.fullmatch(text) is None:
        raise ValueError(f"{text!r} is no HOST:PORT, such as api.example.com:443")
    return text.lower()


def _check_variable(text: str) -> str:
    if _VARIABLE.fullmatch(text) is None:
        raise ValueError(f"{text!r} is no name of a variable: name the variable here, never its value")
    return text


def _check_place(text: str) -> str:
    if not text.startswith(("/", "~/")):
        raise ValueError(f"{text!r} must be an absolute path or begin with ~/")
    return text


Host = Annotated[str, AfterValidator(_check_host)]
VariableName = Annotated[str, AfterValidator(_check_variable)]
HostPath = Annotated[str, AfterValidator(_check_place)]


class LentFileSettings(FrozenModel):
    """`[[engines.NAME.files]]`: a file of credentials. Without `to` it stands at the same place below the home."""

    path: HostPath
    to: str = ""
    writable: bool = False

    @model_validator(mode="after")
    def _require_place(self) -> Self:
        if not self.place or self.place.startswith("/") or ".." in self.place.split("/"):
            raise ValueError(f"say under `to` where below the home {self.path} is to stand, such as .tool/auth.json")
        return self

    @property
    def place(self) -> str:
        """Its place below the home inside."""
        if self.to:
            return self.to
        return self.path.removeprefix("~/")


class UsagePaths(FrozenModel):
    """`engines.NAME.usage`: where in a line of JSON a program says what it used, as keys joined by dots."""

    cost_usd: str = ""
    input_tokens: str = ""
    output_tokens: str = ""


class EngineSettings(FrozenModel):
    """`[engines.NAME]`: a program, how it is given its task, and all that it may reach."""

    protocol: Literal["acp", "command"]
    command: Annotated[tuple[str, ...], Field(min_length=1)]
    model: str = ""
    prompt: Literal["argument", "stdin", "file"] = "argument"
    tier: Annotated[Tier, Field(ge=Tier.COMMANDS)] = Tier.REGISTRIES
    hosts: tuple[Host, ...] = ()
    private_hosts: tuple[Host, ...] = ()
    plain_hosts: tuple[Host, ...] = ()
    env: tuple[VariableName, ...] = ()
    vars: dict[VariableName, str] = Field(default_factory=dict)
    files: tuple[LentFileSettings, ...] = ()
    read_only: tuple[HostPath, ...] = ()
    timeout_s: Seconds = 3_600.0
    output_mb: Positive = 64
    traffic_mb: Positive = 2_048
    max_turns: NotNegative = 0
    usage: UsagePaths = UsagePaths()
    cost_pattern: str = ""

    @field_validator("cost_pattern")
    @classmethod
    def _check_pattern(cls, pattern: str) -> str:
        try:
            groups = re.compile(pattern).groups
        except re.error as error:
            raise ValueError(f"{pattern!r} is no regular expression: {error}") from error
        if pattern and groups != 1:
            raise ValueError(f"{pattern!r} must have one group, around the dollars")
        return pattern

    def get_label(self, name: str) -> str:
        """Return what the engine is called where a model stands: its model, or else its own name."""
        return self.model or name


class EnginesConfig(FrozenModel):
    """The part of the configuration that knows engines, and which worker is which."""

    engines: dict[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,39}$")], EngineSettings] = Field(
        default_factory=dict
    )

    @model_validator(mode="after")
    def _know_every_engine(self) -> Self:
        roles = getattr(self, "roles", None)
        if LOOP in self.engines:
            raise ValueError(f"no table of engines can be called {LOOP}: that is the loop of Orchestrate itself")
        if isinstance(roles, RoleSettings):
            for where, name in roles.worker.iterate_engines():
                if name != LOOP and name not in self.engines:
                    raise ValueError(
                        f"{where} is {name!r}, and there is no table [engines.{name}]: see docs/engines.md"
                    )
        return self


def parse_dollars(text: object) -> Decimal | None:
    """Return an amount of dollars as a program says it; None for what cannot be one."""
    try:
        amount = float(str(text))
    except ValueError:
        return None
    if not math.isfinite(amount) or not 0 <= amount <= _MAX_USD:
        return None
    return Decimal(str(round(amount, 6)))
