"""A host's side of Dask `distributed`: joins a brain as a worker that answers to our own requests alone."""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import anyio
import dask
from distributed import Worker
from distributed.comm.core import CommClosedError

from orchestrator.config.addresses import format_host_port
from orchestrator.errors import HostLost, UsageProblem
from orchestrator.hands.hosts.agent.host_agent import HostAgent, HostIdentity
from orchestrator.hands.hosts.agent.host_store import HostStore
from orchestrator.hands.hosts.certificates.files import CertificateFiles
from orchestrator.hands.hosts.network.dask_brain import build_security, stop_http_server
from orchestrator.hands.hosts.network.dask_link import HANDLER
from orchestrator.hands.hosts.network.dask_settings import SHARED_SETTINGS
from orchestrator.hands.hosts.network.tls_trial import require_brain

_PAUSE_S = 0.3
_ENDED = "everything that ran here for it was ended"
_SETTINGS = {
    "distributed.worker.http.routes": [],
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
    "distributed.worker.profile.enabled": False,
    **SHARED_SETTINGS,
}


@dataclass(frozen=True)
class JoinOptions:
    """The brain to join, the host's certificate, and the port at which the brain reaches the host (0: any)."""

    brain_host: str
    brain_port: int
    certificates: CertificateFiles
    port: int = 0
    address: str | None = None

    @property
    def brain_place(self) -> str:
        """The address of the brain, with its port."""
        return format_host_port(self.brain_host, self.brain_port)


async def serve_brains(
    options: JoinOptions, identity: HostIdentity, store: HostStore, say: Callable[[str], None]
) -> None:
    """Join the brain whenever there is one at its address, until it drains this host; `say` tells how it stands.

    Raises:
        UsageProblem: the brain refused this host, or one does not trust the other's certificate.
    """
    dask.config.set(_SETTINGS)
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    store.remove_uploads()
    is_waiting = False
    while True:
        if not await require_brain(options.brain_host, options.brain_port, options.certificates):
            if not is_waiting:
                say(f"waiting for a run at {options.brain_place}")
            is_waiting = True
            await anyio.sleep(_PAUSE_S)
            continue
        is_waiting = False
        if not await _serve_one_brain(options, identity, store, say):
            return


async def _serve_one_brain(
    options: JoinOptions, identity: HostIdentity, store: HostStore, say: Callable[[str], None]
) -> bool:
    """Serve the brain that is there until one of the two is gone; nothing that was started for it is left then.

    Returns:
        True if this host is to wait for another run, False if it was drained.

    Raises:
        UsageProblem: the brain refused it.
    """
    async with anyio.create_task_group() as tasks:
        agent = HostAgent(identity, store, tasks, (options.certificates.key,))
        try:
            async with _build_worker(options, agent) as worker:
                stop_http_server(worker)
                say(f"joined {options.brain_place} as {identity.name}")
                silent_s = await _wait_for_end(worker, agent)
                await agent.close()
            if silent_s is not None:
                say(f"nothing was heard of the run's engine for {silent_s:.0f} s; {_ENDED}")
            elif agent.dismissal is None:
                say(f"the run's engine is gone; {_ENDED}")
        except (OSError, RuntimeError, ValueError, TimeoutError) as error:  # which of them depends on the moment
            say(f"could not join: {error.__cause__ or error}")
        finally:
            await agent.close()
    if agent.dismissal is None:
        return True
    if agent.dismissal.is_refusal:
        raise UsageProblem(f"the run does not want this host: {agent.dismissal.reason}")
    say(f"{agent.dismissal.reason}; start it again to have it join again")
    return False


def _build_worker(options: JoinOptions, agent: HostAgent) -> Worker:
    """Return a worker that answers to our own requests, and is not started yet."""
    worker = Worker(
        f"tls://{options.brain_place}",
        name=agent.identity.name,
        nthreads=1,
        memory_limit=0,
        security=build_security(options.certificates),
        host=options.address,
        port=options.port,
        dashboard=False,
        dashboard_address="127.0.0.1:0",
        death_timeout=30,
        local_directory=str(agent.store.root / "dask"),
    )
    worker.handlers[HANDLER] = _build_handler(agent)
    return worker


async def _wait_for_end(worker: Worker, agent: HostAgent) -> float | None:
    """Wait until the worker has ended, or nothing was heard of the brain for too long; return for how long then.

    A connection that was cut, with no word to anybody, takes half a minute to close: what runs here ends before that.
    """
    found: list[float] = []
    async with anyio.create_task_group() as tasks:

        async def hear_silence() -> None:
            found.append(await agent.wait_for_silence())
            tasks.cancel_scope.cancel()

        tasks.start_soon(hear_silence)
        await worker.finished()  # type: ignore[no-untyped-call]
        tasks.cancel_scope.cancel()
    return found[0] if found else None


def _build_handler(agent: HostAgent) -> Callable[[str], Awaitable[str]]:
    async def answer_text(text: str) -> str:
        try:
            return await agent.answer_text(text)
        except HostLost as error:
            raise CommClosedError(str(error)) from error  # the brain hears of a loss, and of no result

    return answer_text
