"""The table of a run's hosts, and what was opened on them."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from orchestrator.domain.hosts.record import THIS_MACHINE, HostRecord
from orchestrator.domain.ids import TaskId, UnitId, build_unit_id
from orchestrator.domain.purpose import PurposeFacts


@dataclass(slots=True)
class HostTable:
    """All hosts that ever joined a run, by name, and the hosts of its workspaces.

    A workspace that is not named in it stood on the engine's own machine.
    """

    records: dict[str, HostRecord] = field(default_factory=dict)
    attempt_hosts: dict[UnitId, tuple[str, ...]] = field(default_factory=dict)
    """By attempt, the hosts on which its worker's workspace was opened, in order; several where one was lost."""
    check_hosts: dict[str, str] = field(default_factory=dict)
    """By the key of a run of a check, its host; also of one that was cut off and made again under another key."""
    planner_hosts: dict[TaskId, str] = field(default_factory=dict)
    """By task, the host of its planner's latest workspace."""

    def list_present(self) -> list[HostRecord]:
        """Return the hosts that are joined now."""
        return [record for record in self.records.values() if record.is_present]

    def find_check_host(self, key: str) -> str:
        """Return the host of a run of a check."""
        return self.check_hosts.get(key, THIS_MACHINE)

    def find_attempt_hosts(self, unit: UnitId) -> tuple[str, ...]:
        """Return the hosts of an attempt's workspace, in order."""
        return self.attempt_hosts.get(unit, (THIS_MACHINE,))

    def copy_for_checks(self, keys: Iterable[str]) -> "HostTable":
        """Return a copy with the hosts of these runs of checks only, for a thread to read."""
        checks = {key: self.check_hosts[key] for key in keys if key in self.check_hosts}
        return HostTable(records=dict(self.records), check_hosts=checks)

    def record_lease(self, facts: PurposeFacts, host: str) -> None:
        """Record that a workspace was opened on a host; for whatever else one may be, nobody asks."""
        if facts.check:
            self.check_hosts[facts.check] = host
        elif facts.kind == "attempt" and facts.task is not None:
            unit = build_unit_id(facts.task, facts.attempt)
            known = self.attempt_hosts.get(unit, ())
            if known[-1:] != (host,):
                self.attempt_hosts[unit] = (*known, host)
        elif facts.kind == "planning" and facts.task is not None:
            self.planner_hosts[facts.task] = host
