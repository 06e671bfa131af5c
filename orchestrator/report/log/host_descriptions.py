"""Describe the events of hosts in words."""

from collections.abc import Mapping

from orchestrator.domain.event.hosts import HostJoined, HostLeft, HostMarked
from orchestrator.domain.hosts.record import HostLeaveCause, HostMark
from orchestrator.domain.text.listing import add_lead, format_count

_LEFT: Mapping[HostLeaveCause, str] = {
    "lost": "was lost",
    "drained": "was drained and has left",
    "closed": "has left",
    "refused": "was refused",
}
_MARKED: Mapping[HostMark, str] = {
    "cordoned": "is cordoned: nothing new is opened there",
    "draining": "is being drained: it leaves when its last workspace is closed",
    "ready": "is used again",
}


def describe_joined_host(event: HostJoined) -> str:
    """Return `host build-2 joined with 8 slots, from 10.0.0.7:4100`."""
    return f"host {event.name} joined with {format_count(event.slots, 'slot')}{add_lead(', from ', event.address)}"


def describe_left_host(event: HostLeft) -> str:
    """Return `host build-2 was lost: no sign of life for 15 s; 3 workspaces are made again elsewhere`."""
    words = f"host {event.name} {_LEFT[event.cause]}{add_lead(': ', event.reason)}"
    if event.cause == "lost" and event.workspaces:
        verb = "is" if event.workspaces == 1 else "are"
        return f"{words}; {format_count(event.workspaces, 'workspace')} {verb} made again elsewhere"
    return words


def describe_marked_host(event: HostMarked) -> str:
    """Return `host build-2 is cordoned: nothing new is opened there (by anna)`."""
    return f"host {event.name} {_MARKED[event.mark]}{add_lead(' (by ', event.by, ')')}"
