"""The settings of memory: the field guide, and the notes of a run."""

from typing import Annotated, Literal

from pydantic import Field

from orchestrator.domain.frozen_model import FrozenModel

GuidePlace = Literal["off", "state", "repository"]


class MemorySettings(FrozenModel):
    """`[memory]`. Runs that began before there was it have no memory.

    With the place `repository` a run is told only what people committed; what it learns waits beside its state.
    """

    place: GuidePlace = "off"
    max_lines: Annotated[int, Field(ge=0, le=200)] = 20
    expire_days: Annotated[int, Field(ge=1, le=3_660)] = 90
    max_entries: Annotated[int, Field(ge=1, le=2_000)] = 200
    note_lines: Annotated[int, Field(ge=0, le=200)] = 12
