"""The hosts on which the attempts at a task worked, and those that ran checks; of runs that hosts have joined."""

from orchestrator.domain.hosts.record import format_host_name
from orchestrator.domain.ids import UnitId, build_unit_id
from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.report.read_model import ReadModel


class AttemptHosts(ReadModel):
    """The hosts of an attempt's workspace, in order: more than one where one was lost. Empty is the engine's own."""

    attempt: int
    hosts: tuple[str, ...]


def build_attempt_hosts(state: RunState, task: TaskState) -> tuple[AttemptHosts, ...] | None:
    """Return the hosts of each attempt at a task; None for a run that no host joined."""
    if not state.hosts.records:
        return None
    found = []
    for attempt in task.attempts:
        hosts = state.hosts.find_attempt_hosts(build_unit_id(task.spec.id, attempt.number))
        found.append(AttemptHosts(attempt=attempt.number, hosts=hosts))
    return tuple(found)


def describe_attempt_hosts(state: RunState, unit: UnitId) -> str:
    """Return `, on build-1, then build-2`; empty for a run that no host joined."""
    if not state.hosts.records:
        return ""
    first, *later = map(format_host_name, state.hosts.find_attempt_hosts(unit))
    return f", on {', then '.join((first, *later))}"


def describe_check_host(state: RunState, key: str) -> str:
    """Return `, on build-1` for a run of a check; empty for a run that no host joined."""
    if not state.hosts.records:
        return ""
    return f", on {format_host_name(state.hosts.find_check_host(key))}"
