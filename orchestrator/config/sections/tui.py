"""`[tui]`, which a dashboard reads without the rest of the configuration where nobody has set anything."""

from typing import Literal

from pydantic import Field

from orchestrator.config.quantities import SecondsOrNone
from orchestrator.domain.frozen_model import FrozenModel


class TuiSettings(FrozenModel):
    """`[tui]`: how `orchestrate watch` looks. Whoever watches decides that; what a run began with does not matter."""

    theme: Literal["dark", "light"] = "dark"
    ascii: bool = False
    animations: bool = True
    mouse: bool = True
    bell: bool = True
    notifications: bool = True
    quiet_s: SecondsOrNone = 30.0
    keys: dict[str, str] = Field(default_factory=dict)
