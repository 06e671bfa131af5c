"""The settings of traces and metrics."""

from typing import Annotated, Literal

from pydantic import Field

from orchestrator.config.engines import VariableName
from orchestrator.config.quantities import Seconds
from orchestrator.domain.frozen_model import FrozenModel


class TelemetrySettings(FrozenModel):
    """`[telemetry]`; without an `endpoint` the variables of OpenTelemetry say where it goes.

    `headers` has variables of the environment by header, whose values are sent and never recorded.
    """

    enabled: bool = False
    endpoint: Annotated[str, Field(pattern=r"^(https?://[^\s/]\S*)?$")] = ""
    headers: dict[str, VariableName] = Field(default_factory=dict)
    protocol: Literal["http/protobuf"] = "http/protobuf"
    sample: Annotated[float, Field(ge=0, le=1)] = 1.0
    content: bool = False
    metrics: bool = True
    flush_s: Seconds = 2.0
