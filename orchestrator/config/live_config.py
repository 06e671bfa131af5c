"""The configuration of a run as it stands: what it began with, and what people changed since."""

from functools import reduce
from typing import Any

from pydantic import ValidationError

from orchestrator.config.layers import merge_settings
from orchestrator.config.model import Config
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.validation_problems import describe_first_problem
from orchestrator.errors import UsageProblem


def build_effective_config(state: RunState, *more: dict[str, Any]) -> Config:
    """Return the run's settings with every change in order, and `more` on top.

    Raises:
        UsageProblem: they make no configuration; says which key is wrong.
    """
    values = reduce(merge_settings, (*state.overrides, *more), state.run.settings)
    try:
        return Config.model_validate(values)
    except ValidationError as error:
        raise UsageProblem(describe_first_problem(error)) from error


class LiveConfig:
    """The configuration of a live run; read anew when somebody has changed it."""

    def __init__(self, state: RunState) -> None:
        self._state = state
        self._changes: tuple[dict[str, Any], ...] | None = None
        self._config: Config | None = None

    @property
    def current(self) -> Config:
        """The configuration with all changes so far."""
        if self._config is None or self._changes is not self._state.overrides:
            self._config, self._changes = build_effective_config(self._state), self._state.overrides
        return self._config
