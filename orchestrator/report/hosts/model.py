"""JSON models of the hosts of a run: `orchestrate.hosts/1`, and a part of its result and status."""

from typing import Literal, NamedTuple

from orchestrator.domain.hosts.record import PRESENT_STATUSES, THIS_MACHINE, HostStatus, format_host_name
from orchestrator.domain.ids import RunId, TaskId
from orchestrator.report.read_model import Document, ReadModel

_STATUS_WORDS: dict[HostStatus, str] = {"closed": "left"}


def format_host_status(status: HostStatus) -> str:
    """Return the word for a status that people read."""
    return _STATUS_WORDS.get(status, status)


class HostWork(ReadModel):
    """A workspace that is open on a host: of a worker's attempt, of a planner, or of a check for the `purpose`."""

    kind: Literal["attempt", "planning", "check"]
    task: TaskId | None = None
    attempt: int = 0
    check: str = ""
    purpose: str = ""

    def describe_work(self) -> str:
        """Return `parser attempt 2`, `planning root` or `gate for parser attempt 1`."""
        match self.kind:
            case "attempt":
                return f"{self.task} attempt {self.attempt}"
            case "planning":
                return f"planning {self.task}"
        return f"{self.check} for {self.purpose}"


class HostLoad(ReadModel):
    """The load of one machine: `attempts` that worked there, runs of `checks` that ended there, and what is `open`."""

    attempts: int = 0
    checks: int = 0
    open: tuple[HostWork, ...] = ()


class HostEntry(HostLoad):
    """A host that joined the run; `since` is when it did, or left. `losses` counts how often it was lost."""

    name: str
    status: HostStatus
    slots: int
    address: str
    version: str
    since: str | None
    reason: str
    losses: int

    @property
    def is_present(self) -> bool:
        """True if it is joined now."""
        return self.status in PRESENT_STATUSES

    @property
    def status_text(self) -> str:
        """The status in the word that people read."""
        return format_host_status(self.status)


class MachineRow(NamedTuple):
    """A machine in a table for people: a host, or the one that the engine runs on, which has no state."""

    name: str
    state: str
    slots: str
    losses: str
    attempts: int
    checks: int


class HostsSummary(ReadModel):
    """All hosts of a run, with the `slots` of those that are joined, and the machine that the engine runs on."""

    slots: int
    hosts: tuple[HostEntry, ...]
    this_machine: HostLoad

    def list_machines(self) -> list[MachineRow]:
        """Return a row for each host, and one for the machine that the engine runs on."""
        rows = []
        for host in self.hosts:
            state, slots, losses = host.status_text, str(host.slots), str(host.losses)
            rows.append(MachineRow(host.name, state, slots, losses, host.attempts, host.checks))
        here = self.this_machine
        rows.append(MachineRow(format_host_name(THIS_MACHINE), "", "", "", here.attempts, here.checks))
        return rows


class HostsDocument(Document, schema="orchestrate.hosts/1"):
    """The output of `hosts status`; without an engine at work (`is_live`) no host is joined."""

    run: RunId
    is_live: bool
    slots: int
    hosts: tuple[HostEntry, ...]
    this_machine: HostLoad
