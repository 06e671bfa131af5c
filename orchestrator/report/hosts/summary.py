"""Build what is shown of the hosts of a run from its state."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from orchestrator.domain.event.run import CheckStarted
from orchestrator.domain.hosts.record import THIS_MACHINE, HostRecord
from orchestrator.domain.ids import build_unit_id
from orchestrator.domain.run.state import RunState
from orchestrator.domain.run.task import TaskStatus
from orchestrator.report.hosts.model import HostEntry, HostLoad, HostsSummary, HostWork

_NO_ENGINE = "no engine is at work"


def build_hosts_summary(state: RunState, is_at_work: bool | None = None) -> HostsSummary:
    """Return the hosts of a run in the order in which they joined first.

    Args:
        state: the run.
        is_at_work: False where certainly no engine is: then none is joined, whatever the journal says. None, as an
            engine has it, where the journal decides.
    """
    records = [close_record(record, is_at_work) for record in state.hosts.records.values()]
    loads = _build_loads(state, is_at_work)
    nothing = HostLoad()
    return HostsSummary(
        slots=sum(record.slots * record.is_present for record in records),
        hosts=tuple(_build_entry(record, loads.get(record.name, nothing)) for record in records),
        this_machine=loads.get(THIS_MACHINE, nothing),
    )


def find_hosts_summary(state: RunState, is_at_work: bool | None = None) -> HostsSummary | None:
    """Return the hosts of a run as `build_hosts_summary` does; None if none ever joined it."""
    if not state.hosts.records:
        return None
    return build_hosts_summary(state, is_at_work)


def close_record(record: HostRecord, is_at_work: bool | None) -> HostRecord:
    """Return the record of a host as it is; where no engine is at work, one that is joined in the journal has left."""
    if is_at_work is False and record.is_present:
        return record.model_copy(update={"status": "closed", "reason": _NO_ENGINE})
    return record


def _build_entry(record: HostRecord, load: HostLoad) -> HostEntry:
    return HostEntry(
        name=record.name,
        status=record.status,
        slots=record.slots,
        address=record.address,
        version=record.version,
        since=record.status_since.isoformat() if record.status_since else None,
        reason=record.reason,
        losses=record.losses,
        attempts=load.attempts,
        checks=load.checks,
        open=load.open if record.is_present else (),
    )


def _build_loads(state: RunState, is_at_work: bool | None) -> Mapping[str, HostLoad]:
    """Return what each machine carries, by name."""
    attempts, checks = _count_attempts(state), _count_checks(state)
    opened: Mapping[str, Sequence[HostWork]] = {} if is_at_work is False else list_open_work(state)
    loads = {}
    for name in {*attempts, *checks, *opened}:
        loads[name] = HostLoad(attempts=attempts[name], checks=checks[name], open=tuple(opened.get(name, ())))
    return loads


def _count_attempts(state: RunState) -> Counter[str]:
    counts: Counter[str] = Counter()
    for task in state.tasks.values():
        for attempt in task.attempts:
            unit = build_unit_id(task.spec.id, attempt.number)
            counts.update(set(state.hosts.find_attempt_hosts(unit)))
    return counts


def _count_checks(state: RunState) -> Counter[str]:
    """Return by host how many runs of checks ended there; what earlier runs of the repository tested counts nowhere."""
    counts: Counter[str] = Counter()
    for receipt in state.receipts.values():
        if receipt.origin is None:
            counts[state.hosts.find_check_host(receipt.key)] += 1
    return counts


def list_open_work(state: RunState) -> Mapping[str, Sequence[HostWork]]:
    """Return by host what a workspace is open for now, as far as the journal tells."""
    table, found = state.hosts, defaultdict[str, list[HostWork]](list)
    for name in state.task_index.list_with_status(TaskStatus.RUNNING):
        task = state.tasks[name]
        hosts = table.attempt_hosts.get(task.unit)
        if hosts:
            found[hosts[-1]].append(HostWork(kind="attempt", task=name, attempt=len(task.attempts)))
    for name in state.task_index.list_with_status(TaskStatus.PLANNING):
        if name in table.planner_hosts:
            found[table.planner_hosts[name]].append(HostWork(kind="planning", task=name))
    for intent in state.open_intents.values():
        if isinstance(intent, CheckStarted) and intent.key in table.check_hosts:
            work = HostWork(kind="check", task=intent.purpose_facts.task, check=intent.check, purpose=intent.purpose)
            found[table.check_hosts[intent.key]].append(work)
    return found
