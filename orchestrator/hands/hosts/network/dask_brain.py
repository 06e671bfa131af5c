"""The brain's side of Dask `distributed`: a scheduler within the engine, which hosts join as workers.

Nothing is ever scheduled on it: it brings connections with mutual TLS, and word of who comes and goes. Hosts are asked
once a second whether they live, as the scheduler alone would notice one that hangs only after a while of its own.
"""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import dask
from anyio.abc import TaskGroup
from distributed import Scheduler
from distributed.core import ConnectionPool
from distributed.diagnostics.plugin import SchedulerPlugin
from distributed.node import ServerNode
from distributed.security import Security

from orchestrator.errors import EnvironmentProblem, HostLost, OrchestrateError
from orchestrator.hands.hosts import messages
from orchestrator.hands.hosts.certificates.files import CertificateFiles
from orchestrator.hands.hosts.links import ask_host
from orchestrator.hands.hosts.network.dask_link import DaskLink
from orchestrator.hands.hosts.network.dask_settings import SHARED_SETTINGS
from orchestrator.hands.hosts.roster import HostRoster
from orchestrator.ports.background_tasks import run_background_tasks

_CONNECTIONS = 4_096
"""One connection for each call under way; of abandoned calls there may be many for a few seconds."""
_PULSE_S = 1.0
_GRACE_S = 2.0
"""A host that hears nothing ends everything so much later than the brain takes it for lost."""
_SETTINGS = {
    "distributed.scheduler.http.routes": [],
    "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.worker-ttl": "3600s",  # hosts are asked by ourselves
    **SHARED_SETTINGS,
}


@dataclass(frozen=True)
class ListenOptions:
    """The address to listen at, the brain's certificate, and how long a host may say nothing."""

    host: str
    port: int
    certificates: CertificateFiles
    lost_after_s: float


@asynccontextmanager
async def listen_for_hosts(options: ListenOptions, roster: HostRoster) -> AsyncIterator[str]:
    """Let hosts join the roster while the block lasts; yield the address at which they do.

    Raises:
        EnvironmentProblem: the address cannot be listened at.
    """
    dask.config.set(_SETTINGS)
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    security, plugin = build_security(options.certificates), _JoinPlugin()
    scheduler = Scheduler(
        host=options.host,
        port=options.port,
        protocol="tls",
        security=security,
        dashboard=False,
        dashboard_address="127.0.0.1:0",
        plugins=[plugin],
    )
    try:
        await scheduler
    except (OSError, RuntimeError) as error:  # which of the two depends on the moment
        raise EnvironmentProblem(
            f"hosts cannot join at {options.host}:{options.port}: {error.__cause__ or error}. Another run may listen "
            "there: give this one another address in listen under [hosts]"
        ) from error
    stop_http_server(scheduler)
    arguments = security.get_connection_args("scheduler")  # type: ignore[no-untyped-call]
    pool = ConnectionPool(limit=_CONNECTIONS, connection_args=arguments)
    waits = ConnectionPool(limit=_CONNECTIONS, connection_args=arguments)
    async with pool, waits, run_background_tasks() as tasks:
        listener = _HostListener(options, roster, scheduler, pool, waits, tasks)
        plugin.listener = listener
        try:
            yield scheduler.address
        finally:
            with anyio.CancelScope(shield=True):
                await listener.close()


def build_security(files: CertificateFiles) -> Security:
    """Return what lets nobody connect who has no certificate of the same authority."""
    roles = ("scheduler", "worker", "client")
    fields = {f"tls_{role}_{part}": path for role in roles for part, path in _list_parts(files)}
    return Security(  # type: ignore[no-untyped-call]
        require_encryption=True, tls_ca_file=str(files.authority), **fields
    )


def stop_http_server(node: ServerNode) -> None:
    """Have a scheduler or worker listen for peers with a certificate alone: Dask opens a web page beside."""
    node.http_server.stop()


def _list_parts(files: CertificateFiles) -> tuple[tuple[str, str], ...]:
    return ("cert", str(files.certificate)), ("key", str(files.key))


class _JoinPlugin(SchedulerPlugin):
    """Hears of workers that come and go."""

    name = "orchestrate-hosts"
    listener: "_HostListener | None" = None

    def add_worker(self, scheduler: Scheduler, worker: str) -> None:
        """Take a worker for a host that wants to join."""
        if self.listener is not None:
            self.listener.greet_worker(worker, str(scheduler.workers[worker].name))

    async def remove_worker(self, scheduler: Scheduler, worker: str, **_: Any) -> None:  # noqa: ANN401  whatever Dask adds
        """Take a worker's host for lost."""
        if self.listener is not None:
            await self.listener.lose_worker(worker, "it left, or its connection broke")


@dataclass
class _HostListener:
    """The links of all workers, by address."""

    options: ListenOptions
    roster: HostRoster
    scheduler: Scheduler
    pool: ConnectionPool
    waits: ConnectionPool
    tasks: TaskGroup
    links: dict[str, DaskLink] = field(default_factory=dict)

    def greet_worker(self, address: str, name: str) -> None:
        """Make a link to a worker, and have its host admitted."""
        link = DaskLink(name, address, self.pool(address), self.waits(address), self.tasks, self._drop_link)
        self.links[address] = link
        self.tasks.start_soon(self._watch_host, link)
        self.tasks.start_soon(self.roster.admit_host, link)

    async def lose_worker(self, address: str, reason: str) -> None:
        """End every call to a worker, and take its host off the roster."""
        link = self.links.pop(address, None)
        if link is None:
            return
        link.mark_lost(reason)
        self.pool.remove(address)
        self.waits.remove(address)
        await self.roster.lose_host(link.host, "lost", link.reason or reason, link)

    async def close(self) -> None:
        """Send all hosts away, and end the scheduler."""
        for link in list(self.links.values()):
            link.mark_lost("the run's engine has ended")
            await self.roster.lose_host(link.host, "closed", "", link)
        self.links.clear()
        await self.scheduler.close()

    async def _drop_link(self, link: DaskLink, reason: str) -> None:
        await self.lose_worker(link.address, reason)
        await self.scheduler.remove_worker(link.address, stimulus_id="orchestrate")

    async def _watch_host(self, link: DaskLink) -> None:
        """Ask a host every second whether it lives; one that says nothing for too long is lost."""
        patience_s = self.options.lost_after_s - _PULSE_S
        greeting = messages.Greet(patience_s=self.options.lost_after_s + _GRACE_S)
        try:
            while link.reason is None:
                with anyio.move_on_after(patience_s) as waited:
                    await ask_host(link, greeting)
                if waited.cancelled_caught:
                    await self._drop_link(link, f"it has said nothing for {self.options.lost_after_s:g} s")
                await anyio.sleep(_PULSE_S)
        except HostLost:
            return
        except (OrchestrateError, ValueError) as error:
            await self._drop_link(link, f"it did not answer as a host does: {error}")
