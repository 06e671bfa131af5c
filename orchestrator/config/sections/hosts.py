"""The settings of hosts: machines beside this one whose commands a run uses."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from orchestrator.config.addresses import HostPort
from orchestrator.domain.frozen_model import FrozenModel

MIN_LOST_AFTER_S = 5.0
"""Hosts tell every second that they live; less than this would lose busy ones."""


class HostsSettings(FrozenModel):
    """`[hosts]`: the address at which hosts join a run, and by which certificates they are known.

    A host that has told nothing for `lost_after_s` seconds is lost.
    """

    listen: HostPort | Literal[""] = ""
    certs: str = ""
    use_this_machine: bool = True
    lost_after_s: Annotated[float, Field(ge=MIN_LOST_AFTER_S, le=3_600)] = 15.0

    @model_validator(mode="after")
    def _check_certificates(self) -> Self:
        if self.listen and not self.certs:
            raise ValueError(
                "listen lets hosts join, and they are known by certificates alone: name their directory in certs "
                "(orchestrate hosts certs makes them)"
            )
        return self
