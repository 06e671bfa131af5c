"""A host's side of Dask `distributed`: joins a brain as a worker that answers to our own requests alone."""

import logging
from collections.abc import Callable
from dataclasses import dataclass

import anyio
import dask
from distributed import Worker
from distributed.diagnostics.plugin import WorkerPlugin

from orchestrator.errors import UsageProblem
from orchestrator.hands.hosts.agent.host_agent import HostAgent, HostIdentity
from orchestrator.hands.hosts.agent.host_store import HostStore
from orchestrator.hands.hosts.certificates.files import CertificateFiles
from orchestrator.hands.hosts.network.dask_brain import build_security
from orchestrator.hands.hosts.network.dask_link import HANDLER
from orchestrator.hands.hosts.network.tls_trial import require_brain

_PAUSE_S = 0.3
_SETTINGS = {
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
    "distributed.worker.profile.enabled": False,
    "distributed.comm.timeouts.tcp": "30s",
    "distributed.comm.timeouts.connect": "10s",
    "distributed.comm.retry.count": 0,
    "distributed.admin.tick.limit": "1h",
}


@dataclass(frozen=True)
class JoinOptions:
    """The brain to join, the host's certificate, and the port at which the brain reaches the host (0: any)."""

    brain_host: str
    brain_port: int
    certificates: CertificateFiles
    port: int = 0
    address: str | None = None


async def serve_brains(
    options: JoinOptions, identity: HostIdentity, store: HostStore, say: Callable[[str], None]
) -> None:
    """Join the brain whenever there is one at its address, for ever; `say` tells a person how it stands.

    Raises:
        UsageProblem: the brain refused this host, or one does not trust the other's certificate.
    """
    dask.config.set(_SETTINGS)
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    place = f"{options.brain_host}:{options.brain_port}"
    store.remove_uploads()
    is_waiting = False
    while True:
        if not await require_brain(options.brain_host, options.brain_port, options.certificates):
            if not is_waiting:
                say(f"waiting for a run at {place}")
            is_waiting = True
            await anyio.sleep(_PAUSE_S)
            continue
        is_waiting = False
        await _serve_one_brain(options, identity, store, say)


async def _serve_one_brain(
    options: JoinOptions, identity: HostIdentity, store: HostStore, say: Callable[[str], None]
) -> None:
    """Serve the brain that is there until one of the two is gone; nothing that was started for it is left then."""
    async with anyio.create_task_group() as tasks:
        agent = HostAgent(identity, store, tasks, (options.certificates.key,))
        try:
            worker = Worker(
                f"tls://{options.brain_host}:{options.brain_port}",
                name=identity.name,
                nthreads=1,
                memory_limit=0,
                security=build_security(options.certificates),
                host=options.address,
                port=options.port,
                dashboard=False,
                dashboard_address="127.0.0.1:0",
                death_timeout=30,
                local_directory=str(store.root / "dask"),
                plugins=(_AgentPlugin(agent),),
            )
            async with worker:
                say(f"joined {options.brain_host}:{options.brain_port} as {identity.name}")
                await worker.finished()  # type: ignore[no-untyped-call]
        except (OSError, ValueError, TimeoutError) as error:
            say(f"could not join: {error}")
        finally:
            await agent.close()
    if agent.dismissal is not None:
        raise UsageProblem(f"the run does not want this host: {agent.dismissal}")
    say("the run's engine is gone; everything that ran here for it was ended")


class _AgentPlugin(WorkerPlugin):
    """Puts our handler beside those of the worker."""

    name = "orchestrate-agent"

    def __init__(self, agent: HostAgent) -> None:
        self._agent = agent

    def setup(self, worker: Worker) -> None:
        """Add the handler to the worker that has just been made."""
        worker.handlers[HANDLER] = self._answer

    async def _answer(self, text: str) -> str:
        return await self._agent.answer_text(text)
