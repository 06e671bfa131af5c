"""Hands over two hosts: in the process of the test behind real messages, and as processes of their own behind TLS."""

import gc
import warnings
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field

from orchestrator import __version__
from orchestrator.domain.event import Event
from orchestrator.domain.ids import CommitId
from orchestrator.hands.hosts.agent.host_agent import HostAgent
from orchestrator.hands.hosts.certificates.checking import load_certificates
from orchestrator.hands.hosts.network.dask_brain import ListenOptions, listen_for_hosts
from orchestrator.hands.hosts.roster import HostRoster
from orchestrator.hands.hosts.spread_hands import SpreadRules, open_spread_hands
from orchestrator.ports.hands import Hands
from tests.conformance.kinds import HandsOptions, OpenedHands
from tests.conformance.waiting import wait_until
from tests.doubles.host_links import InProcessLink, run_agent
from tests.running.host_processes import HostProcess, create_certificates, run_host
from tests.unit.hands.conftest import Yard

HOSTS = ("one", "two")
_SLOTS = 2
_VERSION = "conformance"
_RULES = SpreadRules(lambda _: True, uses_this_machine=False)
_LOST_AFTER_S = 300.0
"""Longer than any test takes: a host is lost when a test says so."""


class FreezableLink(InProcessLink):
    """A link to an agent in the same process that can also stop answering."""

    def __init__(self, agent: HostAgent) -> None:
        super().__init__(agent)
        self._frozen = False

    async def ask_text(self, text: str, *, is_wait: bool = False) -> str:
        if self._frozen and not self._lost.is_set():
            await self._lost.wait()
        return await super().ask_text(text, is_wait=is_wait)

    def freeze_host(self) -> None:
        self._frozen = True


@dataclass
class InProcessHosts:
    """Implements `HostControl` for hosts in the test's own process."""

    roster: HostRoster
    links: dict[str, FreezableLink] = field(default_factory=dict)

    async def freeze_host(self, name: str) -> None:
        self.links[name].freeze_host()

    async def lose_host(self, name: str) -> None:
        self.links[name].lose_host()
        await self.roster.lose_host(name, "lost", "a test cut its power")


@dataclass
class ProcessHosts:
    """Implements `HostControl` for hosts that are processes."""

    processes: dict[str, HostProcess] = field(default_factory=dict)

    async def freeze_host(self, name: str) -> None:
        self.processes[name].freeze()

    async def lose_host(self, name: str) -> None:
        self.processes[name].kill()


@asynccontextmanager
async def open_fake_hosts(yard: Yard, options: HandsOptions) -> AsyncIterator[OpenedHands]:
    """Open hands over two hosts that live in this process, behind the messages of real ones."""
    async with AsyncExitStack() as stack:
        roster, events = open_roster(_VERSION)
        hosts = InProcessHosts(roster)
        for name in HOSTS:
            agent = run_agent(yard.state / "hosts" / name, name, options.slots or _SLOTS, _VERSION)
            hosts.links[name] = FreezableLink(await stack.enter_async_context(agent))
        hands = await stack.enter_async_context(_open_spread(yard, options, roster))
        for link in hosts.links.values():
            await roster.admit_host(link)
        assert set(roster.hosts) == set(HOSTS), events
        yield OpenedHands(hands, hosts)


@asynccontextmanager
async def open_host_processes(yard: Yard, options: HandsOptions) -> AsyncIterator[OpenedHands]:
    """Open hands over two hosts that are processes, with certificates of their own."""
    certificates = yard.state / "certs"
    create_certificates(certificates, HOSTS)
    listen = ListenOptions("127.0.0.1", 0, load_certificates(certificates / "brain", "brain"), _LOST_AFTER_S)
    async with AsyncExitStack() as stack:
        roster, events = open_roster(__version__)
        hands = await stack.enter_async_context(_open_spread(yard, options, roster))
        address = await stack.enter_async_context(listen_for_hosts(listen, roster))
        hosts = ProcessHosts()
        for name in HOSTS:
            place, slots = yard.state / "hosts" / name, options.slots or _SLOTS
            hosts.processes[name] = stack.enter_context(run_host(place, certificates, address, name, slots))
        with suppress(TimeoutError):
            await wait_until(lambda: set(roster.hosts) == set(HOSTS), 60)
        assert set(roster.hosts) == set(HOSTS), (events, [host.log.read_text() for host in hosts.processes.values()])
        yield OpenedHands(hands, hosts)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()  # sockets of killed hosts, which Dask leaves open, are not to be found in a later test


def open_roster(version: str) -> tuple[HostRoster, list[Event]]:
    """Return a roster, and the list to which all that would be journaled goes."""
    events: list[Event] = []

    async def record(event: Event) -> None:
        events.append(event)

    return HostRoster(version, record), events


@asynccontextmanager
async def _open_spread(yard: Yard, options: HandsOptions, roster: HostRoster) -> AsyncIterator[Hands]:
    grant = options.grant
    async with yard.hands(grant, slots=options.slots, redactor=options.redactor) as local:
        base = CommitId(yard.git("rev-parse", "HEAD"))
        yield await open_spread_hands(local, roster, grant, base, yard.state, _RULES)
