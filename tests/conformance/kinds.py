"""The kinds of hands that the suite holds to one behaviour. A new kind is one function here and one line in `KINDS`."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import pytest

from orchestrator.hands.policy import SandboxGrant
from orchestrator.ports.hands import Hands
from orchestrator.redact.redactor import PATTERN_REDACTOR, Redactor
from tests.unit.hands.conftest import Yard


@dataclass(frozen=True)
class HandsOptions:
    """Options that every kind takes: `slots` are commands at once on each of its machines."""

    grant: SandboxGrant = field(default_factory=SandboxGrant)
    slots: int | None = None
    redactor: Redactor = PATTERN_REDACTOR


class HostControl(Protocol):
    """A test's power over the hosts of a kind that has some."""

    async def freeze_host(self, name: str) -> None:
        """Have a host answer nothing from now on; no call to it ends."""

    async def lose_host(self, name: str) -> None:
        """Have a host be gone, as if its power was cut. It may be frozen."""


@dataclass(frozen=True)
class OpenedHands:
    """Hands of one kind, and what can be done to their hosts; None where they have only this machine."""

    hands: Hands
    hosts: HostControl | None = None


OpenKind = Callable[[Yard, HandsOptions], AbstractAsyncContextManager[OpenedHands]]
"""Opens hands on the yard's repository. All that they keep lies below the yard's `state`."""


@dataclass(frozen=True)
class HandsKind:
    """One kind of hands. `marks` are those of all its tests; one that `has_hosts` is also tried with their loss.

    If it `has_processes`, each of them is a process of its own, whose end ends what it has started.
    """

    open_hands: OpenKind
    marks: tuple[Any, ...] = ()
    has_hosts: bool = False
    has_processes: bool = False


@asynccontextmanager
async def open_local_kind(yard: Yard, options: HandsOptions) -> AsyncIterator[OpenedHands]:
    """Open the hands of this machine."""
    async with yard.hands(options.grant, slots=options.slots, redactor=options.redactor) as hands:
        yield OpenedHands(hands)


@asynccontextmanager
async def open_fake_kind(yard: Yard, options: HandsOptions) -> AsyncIterator[OpenedHands]:
    """Open hands over two hosts that live in this process."""
    from tests.conformance.spread_kinds import open_fake_hosts

    async with open_fake_hosts(yard, options) as opened:
        yield opened


@asynccontextmanager
async def open_hosts_kind(yard: Yard, options: HandsOptions) -> AsyncIterator[OpenedHands]:
    """Open hands over two hosts that are processes."""
    from tests.conformance.spread_kinds import open_host_processes

    async with open_host_processes(yard, options) as opened:
        yield opened


_LEFT_SOCKETS = pytest.mark.filterwarnings(
    "ignore:Exception ignored in. <ssl.SSLSocket:pytest.PytestUnraisableExceptionWarning"
)
"""Dask leaves the sockets of a host that was killed to the garbage collector."""

KINDS = {
    "local": HandsKind(open_local_kind, (pytest.mark.extended,)),
    "fake": HandsKind(open_fake_kind, has_hosts=True),
    "hosts": HandsKind(open_hosts_kind, (pytest.mark.slow, _LEFT_SOCKETS), has_hosts=True, has_processes=True),
}
"""`make test` tries commands, snapshots and losses on hosts in its own process, which have local hands behind them."""
