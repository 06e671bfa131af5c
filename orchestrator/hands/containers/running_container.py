"""One container that was started: giving it commands, knowing when they have ended, being sure that all of it is dead.

Our own program is its process 1 and calls us back on a socket before anything else runs in it. Through that socket a
command gets its output pipe itself, so that nothing stands between the two, and when we are gone, however that came
about, the socket closes and the container ends.
"""

import json
import os
import signal
import socket
import struct
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
from anyio import to_thread

from orchestrator.hands.containers.engines import ContainerEngine
from orchestrator.hands.containers.run_arguments import CONTROL_SOCKET, ContainerLaunch, build_run_arguments
from orchestrator.hands.execution.process_runner import RunningCommand
from orchestrator.hands.execution.sandbox_process import CommandInput, open_text_descriptor
from orchestrator.hands.files.directory_trees import remove_tree
from worktrees.safety.descriptors import hold_descriptor

_ANSWER_S = 20.0
_DYING_S = 5.0
_REPLY_BYTES = 4096


@dataclass
class Container:
    """A running container.

    `channel` leads to its process 1, whose pidfd is `init_pidfd`; `folder` is ours, for this container alone.
    """

    name: str
    engine: ContainerEngine
    folder: Path
    channel: socket.socket
    init_pidfd: int
    is_over: bool = False

    @property
    def files(self) -> Path:
        """The host directory of the files that commands hand back."""
        return self.folder / "files"

    async def is_fresh(self) -> bool:
        """Return True if the container is as it was when started, with nothing left of an earlier command."""
        try:
            self.channel.send(b"?")
            reply = await self.read_reply()
        except OSError:
            return False
        return reply is not None and bool(reply["ready"])

    async def read_reply(self) -> dict[str, Any] | None:
        """Return the next message of process 1; None when it is dead."""
        await anyio.wait_readable(self.channel)
        with suppress(ConnectionError):
            if reply := self.channel.recv(_REPLY_BYTES):
                return dict(json.loads(reply))
        return None

    def start_command(
        self, order: dict[str, Any], source: CommandInput, writer: int, stack: ExitStack
    ) -> "ContainerCommand":
        """Start a command (`words`, `env`, `cwd`) that prints to `writer`. Raises OSError if nobody is there."""
        order_descriptor = open_text_descriptor(json.dumps(order), stack)
        streams = [source.open_stdin(stack)] if source.text or source.pipes else []
        streams += [source.pipes.stdout] if source.pipes else []
        socket.send_fds(self.channel, [b"!"], [order_descriptor, writer, *streams])
        return ContainerCommand(self)

    async def kill_container(self) -> None:
        """Kill the container and wait until all of it is dead, at most 5 s for a process stuck in the kernel."""
        self.is_over = True
        self.channel.close()
        with suppress(OSError):  # dead already, or another user's: hanging up was enough
            signal.pidfd_send_signal(self.init_pidfd, signal.SIGKILL)
        with anyio.move_on_after(_DYING_S):
            await anyio.wait_readable(self.init_pidfd)

    async def remove_container(self) -> None:
        """Remove the container from the engine and its folder from disk."""
        if not self.is_over:
            await self.kill_container()
        os.close(self.init_pidfd)
        with suppress(OSError):  # it removes itself, too
            await self.engine.run_engine_command("rm", "--force", self.name)
        await to_thread.run_sync(remove_tree, self.folder)


@dataclass
class ContainerCommand(RunningCommand):
    """A command in a container."""

    container: Container
    is_done: bool = False
    replies: dict[str, int] = field(default_factory=dict)

    async def wait_until_started(self) -> None:
        """Wait until process 1 reports whether it could start the command."""
        await self._receive_reply("started")
        self.is_done = self.replies.get("started") is False

    async def wait_until_exited(self) -> None:
        """Wait until the command has ended, and everything it left behind in the container."""
        while not self.is_done:
            await self._receive_reply("exit")

    async def kill_command(self) -> None:
        """Kill the whole container, unless the command has ended by itself."""
        if not self.is_done or self.container.is_over:
            self.was_killed = True
            await self.container.kill_container()

    def get_exit_code(self) -> int | None:
        """Return the exit code; None if the command never started or did not end by itself."""
        return self.replies.get("exit")

    async def _receive_reply(self, wanted: str) -> None:
        reply = await self.container.read_reply()
        if reply is None:
            self.container.is_over = self.is_done = True
        self.replies |= reply or {}
        self.is_done |= wanted == "exit" and "exit" in self.replies


async def start_container(engine: ContainerEngine, launch: ContainerLaunch, folder: Path) -> Container:
    """Start a container and wait for its call; `folder` holds its files.

    Raises:
        OSError: the engine refused, in its own words, or the container did not call back.
    """
    with ExitStack() as stack:
        listener = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
        _bind_listener(Path(launch.control), listener)
        try:
            await engine.run_engine_command(*build_run_arguments(launch, engine.is_podman))
            channel = await _accept_call(listener)
        except BaseException:
            with anyio.CancelScope(shield=True), suppress(OSError):
                await engine.run_engine_command("rm", "--force", launch.name)
            raise
    (Path(launch.control) / CONTROL_SOCKET).unlink()
    pid, _, _ = struct.unpack("3i", channel.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return Container(launch.name, engine, folder, channel, os.pidfd_open(pid))


def _bind_listener(directory: Path, listener: socket.socket) -> None:
    """Bind in a directory by a descriptor of it: whole paths are often too long for a socket's address."""
    with hold_descriptor(os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)) as number:
        listener.bind(f"/proc/self/fd/{number}/{CONTROL_SOCKET}")
    (directory / CONTROL_SOCKET).chmod(0o666)
    listener.listen(1)
    listener.setblocking(False)


async def _accept_call(listener: socket.socket) -> socket.socket:
    try:
        with anyio.fail_after(_ANSWER_S):
            await anyio.wait_readable(listener)
    except TimeoutError as error:
        raise OSError("the container started, but nothing in it called back; is there a Python in it?") from error
    channel, _ = listener.accept()
    channel.setblocking(False)
    return channel
