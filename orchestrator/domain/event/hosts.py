"""Events of hosts: machines beside the engine's own that carry workspaces."""

from typing import Literal

from orchestrator.domain.event.base import Event

HostLeftCause = Literal["lost", "drained", "closed", "refused"]
HostMark = Literal["cordoned", "draining", "ready"]


class HostJoined(Event, kind="host.joined"):
    """A host is ready for work."""

    name: str
    slots: int
    address: str = ""
    version: str = ""


class HostLeft(Event, kind="host.left"):
    """A host is gone, or was refused; `workspaces` were open on it."""

    name: str
    cause: HostLeftCause
    reason: str = ""
    workspaces: int = 0


class HostMarked(Event, kind="host.marked"):
    """A person decided about a host's further work."""

    name: str
    mark: HostMark
    by: str = ""
