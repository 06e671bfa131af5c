"""The standard input and output of a program on another host, asked for in short waits."""

from dataclasses import dataclass

from orchestrator.hands.hosts import calls
from orchestrator.hands.hosts.links import HostLink, ask_host
from orchestrator.ports.hands import MAX_WAIT_S
from orchestrator.ports.processes import READ_BYTES


@dataclass
class RemotePipes:
    """The pipes of a program on another host; implements `orchestrator.ports.processes.ProcessPipes`."""

    link: HostLink
    workspace: str
    call_id: str
    _received: int = 0

    async def send_bytes(self, content: bytes) -> None:
        """Write to the program's standard input; wait while it does not read.

        Raises:
            ProgramGone: it reads no more.
        """
        await ask_host(self.link, calls.SendInput(workspace=self.workspace, call_id=self.call_id, content=content))

    async def close_input(self) -> None:
        """End the program's standard input."""
        await ask_host(self.link, calls.SendInput(workspace=self.workspace, call_id=self.call_id, is_end=True))

    async def receive_bytes(self, limit: int = READ_BYTES) -> bytes:
        """Return at most `limit` bytes of the program's output, as soon as there are some; none at the end."""
        asked = calls.ReceiveOutput(
            workspace=self.workspace, call_id=self.call_id, offset=self._received, limit=limit, timeout_s=MAX_WAIT_S
        )
        while True:
            received = await ask_host(self.link, asked)
            if received.content is not None:
                self._received += len(received.content)
                return received.content
