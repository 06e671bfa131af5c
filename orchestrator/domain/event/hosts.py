"""Events of hosts: machines that join a run, leave it, and what people make of them."""

from orchestrator.domain.event.base import Event
from orchestrator.domain.hosts.record import HostLeaveCause, HostMark


class HostJoined(Event, kind="host.joined"):
    """A host carries workspaces from now on; `slots` is how many commands it runs at once."""

    name: str
    slots: int
    address: str = ""
    version: str = ""


class HostLeft(Event, kind="host.left"):
    """A host carries nothing any more; `workspaces` were open there, and are made again elsewhere.

    One that was refused never joined; `reason` says why.
    """

    name: str
    cause: HostLeaveCause
    reason: str = ""
    workspaces: int = 0


class HostMarked(Event, kind="host.marked"):
    """A person wants nothing new on a host, wants it to leave, or takes that back."""

    name: str
    mark: HostMark
    by: str = ""
