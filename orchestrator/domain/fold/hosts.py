"""The changes that events of hosts make to the state of a run."""

from datetime import datetime

from orchestrator.domain.event import hosts
from orchestrator.domain.event.run import EngineStarted
from orchestrator.domain.event.work import WorkspaceLeased, WorkspaceLeasing
from orchestrator.domain.hosts.record import HostRecord
from orchestrator.domain.run.state import RunState

HOST_EVENTS = (hosts.HostJoined, hosts.HostLeft, hosts.HostMarked)
ENGINE_ENDED = "the engine ended"


def record_host(state: RunState, event: hosts.HostJoined | hosts.HostLeft | hosts.HostMarked, at: datetime) -> None:
    """Change the record of a host as an event says; a mark of one that never joined says nothing."""
    records = state.hosts.records
    record = records.get(event.name, HostRecord(name=event.name))
    match event:
        case hosts.HostJoined():
            records[event.name] = record.record_join(event.slots, event.address, event.version, at)
        case hosts.HostLeft() if _can_leave(state, event):
            records[event.name] = record.record_leave(event.cause, event.reason, at)
        case hosts.HostMarked() if event.name in records:
            records[event.name] = record.record_mark(event.mark)


def _can_leave(state: RunState, event: hosts.HostLeft) -> bool:
    """Return True if an event is news of its host: one leaves once, and one that is joined stands for its name."""
    known = state.hosts.records.get(event.name)
    if event.cause == "refused":
        return known is None or not known.is_present
    return known is None or known.is_present


def close_hosts(state: RunState, _event: EngineStarted, at: datetime) -> None:
    """Record that hosts of the engine before are gone: each joins the new one, if it still lives."""
    for record in state.hosts.list_present():
        state.hosts.records[record.name] = record.record_leave("closed", ENGINE_ENDED, at)


def record_workspace_host(state: RunState, event: WorkspaceLeased, _at: datetime) -> None:
    """Record on which host a workspace was opened. Journals without hosts tell of none."""
    if not event.host and not state.hosts.records:
        return
    intent = state.open_intents.get(event.key)
    if isinstance(intent, WorkspaceLeasing):
        state.hosts.record_lease(intent.purpose_facts, event.host)
