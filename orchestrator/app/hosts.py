"""Hosts that may join a run: where they do, who they are known by, and how its hands are spread over them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from orchestrator import __version__
from orchestrator.app.host_certificates import require_host_certificates
from orchestrator.config.addresses import parse_host_port
from orchestrator.config.model import Config
from orchestrator.domain.event import Event, RecordedEvent
from orchestrator.domain.event.hosts import HostMarked
from orchestrator.domain.event.run import Noticed
from orchestrator.domain.hosts.record import HostMark
from orchestrator.domain.ids import CommitId
from orchestrator.domain.purpose import Purpose
from orchestrator.hands.hosts.roster import HostRoster
from orchestrator.hands.hosts.spread_hands import SpreadHands, SpreadRules, open_spread_hands
from orchestrator.hands.local import LocalHands
from orchestrator.hands.policy import SandboxGrant
from orchestrator.journal.journal import Journal
from orchestrator.ports.background_tasks import run_background_tasks


@dataclass(frozen=True)
class HostConnections:
    """The hosts of a run, and the rules by which its hands are spread over them."""

    roster: HostRoster
    rules: SpreadRules

    async def spread_hands(self, here: LocalHands, grant: SandboxGrant, base: CommitId, state: Path) -> SpreadHands:
        """Return hands over this machine's and those of all hosts."""
        return await open_spread_hands(here, self.roster, grant, base, state, self.rules)


@asynccontextmanager
async def open_host_connections(config: Config, journal: Journal) -> AsyncIterator[HostConnections]:
    """Let hosts join the run while the block lasts, at the address that is configured.

    Raises:
        EnvironmentProblem: the extra is missing, or nobody can listen at the address.
        UsageProblem: the certificates cannot be used.
    """
    settings = config.hosts
    files = await require_host_certificates(settings)
    if files is None:
        raise ValueError("no address is configured at which hosts could join")
    from orchestrator.hands.hosts.network.dask_brain import ListenOptions, listen_for_hosts

    host, port = parse_host_port(settings.listen)

    async def record_event(event: Event) -> None:
        await journal.append(event)

    def get_mark(name: str) -> HostMark:
        known = journal.state.hosts.records
        return "cordoned" if name in known and known[name].is_kept_off else "ready"

    roster = HostRoster(__version__, record_event, get_mark)
    options = ListenOptions(host, port, files, settings.lost_after_s)
    async with listen_for_hosts(options, roster) as address, run_background_tasks() as tasks:

        def follow_marks(recorded: RecordedEvent) -> None:
            if isinstance(event := recorded.event, HostMarked):
                tasks.start_soon(roster.mark_host, event.name, event.mark)

        journal.listeners.append(follow_marks)
        await journal.append(Noticed(level="info", text=f"hosts can join at {address.removeprefix('tls://')}"))
        try:
            yield HostConnections(roster, SpreadRules(may_go_out, settings.use_this_machine))
        finally:
            journal.listeners.remove(follow_marks)


def may_go_out(purpose: Purpose) -> bool:
    """Return True if a host may serve a purpose. Planners only read, which is quicker here."""
    return purpose.facts.kind != "planning"
