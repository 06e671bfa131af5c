"""Hands that lose hosts at given calls: that call of a workspace raises `HostLost`, and so do all later ones of it."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import TypeVar

from orchestrator.domain.ids import CommitId, TreeId
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.sandbox.tier import Tier
from orchestrator.errors import HostLost
from orchestrator.ports.hands import MAX_WAIT_S, CommandResult, Hands, OutputEnd, ShellCommand, Snapshot, Workspace
from orchestrator.ports.processes import ProcessPipes

T = TypeVar("T")


class LosingHands:
    """Real hands, of which each workspace has a host of its own.

    Calls of workspaces are counted over all of them, from 1 on; opening and closing one are calls, too. `moments` are
    the calls at which the host is lost, by number, or by name for the first of that name: the call is made, and what it
    returns is lost with the host. With `loses_all` every workspace that is open then stood on the same host. `lost`
    names the calls that lost one.
    """

    def __init__(self, hands: Hands, moments: Collection[int | str], *, loses_all: bool = False) -> None:
        self._hands = hands
        self._moments = moments
        self._loses_all = loses_all
        self._open: list[LosingWorkspace] = []
        self.calls: list[str] = []
        self.lost: list[str] = []

    @property
    def refusal_reason(self) -> str | None:
        return self._hands.refusal_reason

    @property
    def slots(self) -> int:
        return self._hands.slots

    @property
    def environment_hash(self) -> str:
        return self._hands.environment_hash

    @property
    def policy_summary(self) -> Mapping[str, str]:
        return self._hands.policy_summary

    async def open_workspace(self, commit: CommitId, purpose: Purpose) -> Workspace:
        number = self.count_call(f"open_workspace for {purpose.text}")
        workspace = LosingWorkspace(self, await self._hands.open_workspace(commit, purpose))
        self._open.append(workspace)
        if self.is_moment(number):
            self.lose_host(workspace, number)
            await workspace.close_really()
            raise build_loss()
        return workspace

    def count_call(self, name: str) -> int:
        self.calls.append(name)
        return len(self.calls)

    def is_moment(self, number: int) -> bool:
        name, earlier = self.calls[number - 1], self.calls[: number - 1]
        return number in self._moments or (name in self._moments and name not in earlier)

    def lose_host(self, workspace: "LosingWorkspace", number: int) -> None:
        self.lost.append(self.calls[number - 1])
        concerned = list(self._open) if self._loses_all else [workspace]
        for one in concerned:
            one.is_lost = True

    def forget(self, workspace: "LosingWorkspace") -> None:
        if workspace in self._open:
            self._open.remove(workspace)


def build_loss() -> HostLost:
    """Return the error of every call on a host that is lost."""
    return HostLost("the host build-1 was lost: it is not heard of any more", "build-1")


class LosingWorkspace:
    """A workspace on a host that may be lost."""

    def __init__(self, hands: LosingHands, workspace: Workspace) -> None:
        self._hands = hands
        self._workspace = workspace
        self.is_lost = False

    @property
    def host(self) -> str:
        return self._workspace.host

    @property
    def name(self) -> str:
        return self._workspace.name

    @property
    def takes_turns(self) -> bool:
        return self._workspace.takes_turns

    async def _call(self, name: str, call: Callable[[], Awaitable[T]]) -> T:
        if self.is_lost:
            raise build_loss()
        number = self._hands.count_call(name)
        result = await call()
        if self._hands.is_moment(number):
            self._hands.lose_host(self, number)
        if self.is_lost:
            raise build_loss()
        return result

    async def get_policy_hash(self, tier: Tier) -> str:
        return await self._call("get_policy_hash", lambda: self._workspace.get_policy_hash(tier))

    async def start_command(self, call_id: str, command: ShellCommand) -> None:
        await self._call("start_command", lambda: self._workspace.start_command(call_id, command))

    async def wait_for_result(self, call_id: str, timeout_s: float = MAX_WAIT_S) -> CommandResult | None:
        return await self._call("wait_for_result", lambda: self._workspace.wait_for_result(call_id, timeout_s))

    async def read_output(self, call_id: str, limit_bytes: int) -> OutputEnd:
        return await self._call("read_output", lambda: self._workspace.read_output(call_id, limit_bytes))

    async def open_process(self, call_id: str, command: ShellCommand) -> ProcessPipes:
        return await self._call("open_process", lambda: self._workspace.open_process(call_id, command))

    async def kill_command(self, call_id: str) -> None:
        await self._call("kill_command", lambda: self._workspace.kill_command(call_id))

    async def interrupt_commands(self) -> None:
        await self._call("interrupt_commands", self._workspace.interrupt_commands)

    async def read_file(self, path: str, limit_bytes: int = 1024 * 1024) -> bytes:
        return await self._call("read_file", lambda: self._workspace.read_file(path, limit_bytes))

    async def write_file(self, path: str, content: bytes) -> None:
        await self._call("write_file", lambda: self._workspace.write_file(path, content))

    async def list_paths(self, glob: str = "**") -> tuple[str, ...]:
        return await self._call("list_paths", lambda: self._workspace.list_paths(glob))

    async def list_paths_beside(self, tree: TreeId, limit: int) -> tuple[str, ...]:
        return await self._call("list_paths_beside", lambda: self._workspace.list_paths_beside(tree, limit))

    async def search_text(self, pattern: str, glob: str, limit: int) -> tuple[str, ...]:
        return await self._call("search_text", lambda: self._workspace.search_text(pattern, glob, limit))

    async def take_snapshot(
        self, message: str, ref: str, parent: CommitId | None = None, *, is_followed: bool = False
    ) -> Snapshot:
        return await self._call(
            "take_snapshot", lambda: self._workspace.take_snapshot(message, ref, parent, is_followed=is_followed)
        )

    async def get_unchanged_tree(self) -> TreeId | None:
        return await self._call("get_unchanged_tree", self._workspace.get_unchanged_tree)

    async def restore_tree(self, tree: TreeId, *, keeps_ignored: bool = True) -> None:
        await self._call("restore_tree", lambda: self._workspace.restore_tree(tree, keeps_ignored=keeps_ignored))

    async def close(self) -> None:
        try:
            await self._call("close", self._do_nothing)
        finally:
            await self.close_really()

    async def close_really(self) -> None:
        """Give the checkout back, which the lost host would have taken with it."""
        self._hands.forget(self)
        await self._workspace.close()

    async def _do_nothing(self) -> None:
        pass
