"""Commands about hosts: the event that each is recorded as, and the reason why one that makes no sense is refused."""

from collections.abc import Mapping

from orchestrator.domain.commands.definitions import Cordon, Drain, HostCommand, Uncordon
from orchestrator.domain.event.hosts import HostMarked
from orchestrator.domain.hosts.record import HostMark, HostRecord, HostStatus
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.listing import add_lead, join_limited
from orchestrator.domain.text.suggestions import suggest_names

_MARKS: Mapping[type[HostCommand], HostMark] = {Cordon: "cordoned", Uncordon: "ready", Drain: "draining"}
_IS_SO_ALREADY: Mapping[tuple[HostMark, HostStatus], str] = {
    ("cordoned", "cordoned"): "is cordoned already",
    ("cordoned", "draining"): "is being drained: it gets nothing new, and leaves when its last workspace is closed",
    ("draining", "draining"): "is being drained already: it leaves when its last workspace is closed",
    ("ready", "ready"): "is neither cordoned nor being drained",
}
_SHOWN_HOSTS = 12
_LEFT: Mapping[HostStatus, str] = {
    "lost": "was lost",
    "drained": "was drained and has left",
    "closed": "has left",
    "refused": "was refused",
}


def build_mark_event(command: HostCommand, by: str) -> HostMarked:
    """Return the event that a command which was not refused is recorded as."""
    return HostMarked(name=command.host, mark=_MARKS[type(command)], by=by)


def explain_host_refusal(state: RunState, command: HostCommand) -> str:
    """Return the reason why a command about a host cannot be carried out now; empty when it can."""
    if state.ended is not None:
        return f"the run has ended: {state.ended.outcome}"
    record = state.hosts.records.get(command.host)
    if record is None:
        return _explain_unknown_host(command.host, state.hosts.records)
    if not record.is_present:
        when = f" at {record.left_at:%H:%M:%S} UTC" if record.left_at else ""
        reason = add_lead(": ", record.reason)
        return f"host {record.name} {_LEFT[record.status]}{when}{reason}; say it again when the host has joined again"
    if problem := _IS_SO_ALREADY.get((_MARKS[type(command)], record.status)):
        return f"host {record.name} {problem}"
    return ""


def _explain_unknown_host(name: str, records: Mapping[str, HostRecord]) -> str:
    if not records:
        return f"there is no host {name!r}: no host has joined this run (orchestrate hosts join)"
    known = f"the hosts of this run: {join_limited(records, _SHOWN_HOSTS)}"
    return f"there is no host {name!r} in this run; {suggest_names(name, records, known)}"
