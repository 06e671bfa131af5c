"""Decisions on commands' connections to hosts."""

from collections.abc import Iterable

from orchestrator.domain.frozen_model import FrozenModel


class NetworkDecision(FrozenModel):
    """The decision on a command's connection to `host` and `port`, with the reason.

    Bytes are those of the command (`sent_bytes`) and of the host (`received_bytes`). Wishes that met the same end count
    as one, `times` over.
    """

    host: str
    port: int
    allowed: bool
    reason: str = ""
    sent_bytes: int = 0
    received_bytes: int = 0
    times: int = 1


def describe_refused_hosts(decisions: Iterable[NetworkDecision]) -> tuple[str, ...]:
    """Return one line for each connection that a command was refused."""
    refused = [decision for decision in decisions if not decision.allowed]
    return tuple(f"{one.host}:{one.port}: {one.reason}" + f" ({one.times} times)" * (one.times > 1) for one in refused)
