"""The settings of what agents are told beside their tasks: the project's rules, a map, and the wording of prompts."""

from typing import Annotated

from pydantic import Field, field_validator

from orchestrator.config.quantities import NotNegative, Positive
from orchestrator.domain.frozen_model import FrozenModel

_FileName = Annotated[str, Field(pattern=r"^[^/*?\[\x00-\x1f]{1,100}$")]


class MapSettings(FrozenModel):
    """`[map]`. Runs that began before there was this table have none in their settings, and had no map."""

    tokens: Annotated[int, Field(ge=0, le=50_000)] = 0
    tools: bool = False
    mb: NotNegative = 64


class RulesSettings(FrozenModel):
    """`[rules]`: the files in which a project speaks to agents. Runs that began before there was it read none."""

    files: Annotated[tuple[_FileName, ...], Field(max_length=10)] = ()
    max_chars: Positive = 16_000


class PromptSettings(FrozenModel):
    """`[prompts]`: a directory whose files replace shipped prompts of the same name; empty for none."""

    dir: str = ""

    @field_validator("dir")
    @classmethod
    def _require_absolute_path(cls, place: str) -> str:
        if place and not place.startswith(("/", "~")):
            raise ValueError(f"must be an absolute path or begin with ~, not {place}")
        return place
