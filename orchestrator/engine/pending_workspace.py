"""A workspace that is made ready beside the first request to a model; whoever touches it waits until it is there.

To check out a large repository takes both processors for seconds, so it begins once a model has been asked, or when the
workspace is touched.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

from orchestrator.domain.ids import CommitId, TreeId
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.sandbox.tier import Tier
from orchestrator.engine.context import RunContext
from orchestrator.errors import find_sole_error
from orchestrator.ports.background_tasks import run_background_tasks
from orchestrator.ports.hands import MAX_WAIT_S, CommandResult, Hands, OutputEnd, ShellCommand, Snapshot, Workspace
from orchestrator.ports.processes import ProcessPipes


class PendingWorkspace:
    """A `ports.hands.Workspace` that another one takes the place of as soon as that is open."""

    def __init__(self) -> None:
        self._workspace: Workspace | None = None
        self._is_open = anyio.Event()
        self._is_touched = anyio.Event()
        self._waiting = anyio.CancelScope()

    async def open_from(self, hands: Hands, commit: CommitId, purpose: Purpose, model_called: anyio.Event) -> None:
        """Open the workspace in these hands once a model is called or somebody touches it, unless it is given up.

        Raises as `Hands.open_workspace` does.
        """
        with self._waiting:
            await _wait_for_any(model_called, self._is_touched)
        if self._waiting.cancelled_caught:
            return
        self._workspace = await hands.open_workspace(commit, purpose)
        self._is_open.set()

    def give_up(self) -> None:
        """Open it no more, unless that has begun."""
        self._waiting.cancel()

    async def _await_workspace(self) -> Workspace:
        self._is_touched.set()
        await self._is_open.wait()
        return self._get_workspace()

    def _get_workspace(self) -> Workspace:
        if self._workspace is None:
            raise RuntimeError("the workspace is not open yet")
        return self._workspace

    @property
    def name(self) -> str:
        """Its name in the pool, once it is open."""
        return self._get_workspace().name

    @property
    def host(self) -> str:
        """The host that it is on, once it is open."""
        return self._get_workspace().host

    @property
    def takes_turns(self) -> bool:
        """True if commands that write run one after the other."""
        return self._get_workspace().takes_turns

    async def get_policy_hash(self, tier: Tier) -> str:
        """Return the hash of the policy that commands of a tier run under."""
        return await (await self._await_workspace()).get_policy_hash(tier)

    async def start_command(self, call_id: str, command: ShellCommand) -> None:
        """Start a command."""
        await (await self._await_workspace()).start_command(call_id, command)

    async def open_process(self, call_id: str, command: ShellCommand) -> ProcessPipes:
        """Start a program to speak with."""
        return await (await self._await_workspace()).open_process(call_id, command)

    async def wait_for_result(self, call_id: str, timeout_s: float = MAX_WAIT_S) -> CommandResult | None:
        """Return the result, or None if the command still runs."""
        return await (await self._await_workspace()).wait_for_result(call_id, timeout_s)

    async def read_output(self, call_id: str, limit_bytes: int) -> OutputEnd:
        """Return the last bytes that a command has printed."""
        return await (await self._await_workspace()).read_output(call_id, limit_bytes)

    async def kill_command(self, call_id: str) -> None:
        """End the command."""
        await (await self._await_workspace()).kill_command(call_id)

    async def interrupt_commands(self) -> None:
        """End all commands; none runs before it is open."""
        if self._workspace is not None:
            await self._workspace.interrupt_commands()

    async def read_file(self, path: str, limit_bytes: int = 1024 * 1024) -> bytes:
        """Return a file's content."""
        return await (await self._await_workspace()).read_file(path, limit_bytes)

    async def write_file(self, path: str, content: bytes) -> None:
        """Write a file."""
        await (await self._await_workspace()).write_file(path, content)

    async def list_paths(self, glob: str = "**") -> tuple[str, ...]:
        """Return the files that fit the glob."""
        return await (await self._await_workspace()).list_paths(glob)

    async def list_paths_beside(self, tree: TreeId, limit: int) -> tuple[str, ...]:
        """Return the first paths that belong to no file of a tree."""
        return await (await self._await_workspace()).list_paths_beside(tree, limit)

    async def search_text(self, pattern: str, glob: str, limit: int) -> tuple[str, ...]:
        """Return the first lines that match."""
        return await (await self._await_workspace()).search_text(pattern, glob, limit)

    async def take_snapshot(
        self, message: str, ref: str, parent: CommitId | None = None, *, is_followed: bool = False
    ) -> Snapshot:
        """Commit the content."""
        return await (await self._await_workspace()).take_snapshot(message, ref, parent, is_followed=is_followed)

    async def get_unchanged_tree(self) -> TreeId | None:
        """Return the tree of the last snapshot if nothing was written since."""
        return await (await self._await_workspace()).get_unchanged_tree()

    async def restore_tree(self, tree: TreeId, *, keeps_ignored: bool = True) -> None:
        """Make the content equal to a tree."""
        await (await self._await_workspace()).restore_tree(tree, keeps_ignored=keeps_ignored)

    async def close(self) -> None:
        """Give the checkout back, if there is one."""
        if self._workspace is not None:
            await self._workspace.close()


async def _wait_for_any(*events: anyio.Event) -> None:
    async with run_background_tasks() as tasks:
        is_set = anyio.Event()

        async def note_event(event: anyio.Event) -> None:
            await event.wait()
            is_set.set()

        for event in events:
            tasks.start_soon(note_event, event)
        await is_set.wait()


@asynccontextmanager
async def lend_pending_workspace(context: RunContext, commit: CommitId, purpose: Purpose) -> AsyncIterator[Workspace]:
    """Lend a workspace that is made ready while the block has begun, and give it back at the end.

    Where the order of what happens is given, as in a replay, it is there at once.

    Raises:
        EnvironmentProblem: it could not be prepared; the block is cancelled.
    """
    if not context.action_order.gathers_news:
        async with context.lend_workspace(commit, purpose) as workspace:
            yield workspace
        return
    pending = PendingWorkspace()
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pending.open_from, context.hands, commit, purpose, context.model_called)
            yield pending
            pending.give_up()
    except BaseExceptionGroup as group:
        error = find_sole_error(group)
        if error is None:
            raise
        raise error from group
    finally:
        await pending.close()
