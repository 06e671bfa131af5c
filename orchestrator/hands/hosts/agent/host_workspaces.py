"""The workspaces that a host has open for a brain: each request is carried out on a local one."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
from anyio import to_thread

from orchestrator.domain.ids import CommitId
from orchestrator.hands.execution.process_pipes import LocalPipes
from orchestrator.hands.hosts import calls, messages
from orchestrator.hands.workspace import LocalWorkspace
from orchestrator.ports.hands import CommandResult
from worktrees.object_store.pack_transfer import find_missing_objects, pack_objects
from worktrees.repositories.repository import GitRepository

_SHORT_BYTES = 16 * 1024
_INLINE_BYTES = 256 * 1024
"""The output of a command, or a pack, that is no larger goes with the reply."""
_KNOWN_COMMITS = 4
"""Snapshots that the brain has, and that a pack leaves out, are remembered up to so many."""


@dataclass
class HostPipes:
    """The pipes of a program, and the latest part of its output: whoever asked for that may have given up meanwhile."""

    pipes: LocalPipes
    _offset: int = 0
    _part: bytes = b""
    _turn: anyio.Lock = field(default_factory=anyio.Lock)
    _input_turn: anyio.Lock = field(default_factory=anyio.Lock)

    async def send_part(self, content: bytes) -> None:
        """Write to the program's standard input, behind what was sent before and may still be under way.

        Raises:
            ProgramGone: it reads no more.
        """
        async with self._input_turn:
            await self.pipes.send_bytes(content)

    async def receive_part(self, offset: int, limit: int) -> bytes:
        """Return at most `limit` bytes of the output from an offset on, as soon as there are some; none at the end."""
        async with self._turn:
            if offset >= self._offset + len(self._part):
                part = await self.pipes.receive_bytes(limit)
                self._offset, self._part = offset, part
            begin = offset - self._offset
            return self._part[begin : begin + limit]


@dataclass
class HostWorkspace:
    """One open workspace. `known` are commits whose objects the brain has."""

    workspace: LocalWorkspace
    mirror: GitRepository
    commit: CommitId
    known: list[str] = field(default_factory=list)
    pack: bytes = b""
    pipes: dict[str, HostPipes] = field(default_factory=dict)
    started: set[str] = field(default_factory=set)
    killed_early: set[str] = field(default_factory=set)
    """Commands that were killed before the request to start them had arrived."""

    async def answer_request(self, request: messages.HostRequest[Any]) -> messages.HostReply:
        """Carry out a request to the workspace, and return its reply.

        Raises:
            OrchestrateError, ValueError: what the workspace itself raises.
        """
        match request:
            case calls.StartCommand():
                return await self._start_command(request)
            case calls.WaitForResult(call_id=call_id, timeout_s=timeout_s):
                return await self._build_finished(await self.workspace.wait_for_result(call_id, timeout_s))
            case calls.ReadOutput(call_id=call_id, limit_bytes=limit_bytes):
                end = await self.workspace.read_output(call_id, limit_bytes)
                return calls.OutputEndReply.from_output_end(end)
            case calls.ReadLog(call_id=call_id, offset=offset):
                log = self.workspace.get_log_path(call_id)
                return calls.ContentReply(content=await to_thread.run_sync(_read_part, log, offset))
            case calls.KillCommand(call_id=call_id):
                await self._kill_command(call_id)
            case calls.InterruptCommands():
                await self.workspace.interrupt_commands()
            case calls.SendInput():
                await self._send_input(request)
            case calls.ReceiveOutput():
                return await self._receive_output(request)
            case _:
                return await self._answer_about_content(request)
        return messages.DoneReply()

    async def _answer_about_content(self, request: messages.HostRequest[Any]) -> messages.HostReply:
        workspace = self.workspace
        match request:
            case calls.ReadFile(path=path, limit_bytes=limit_bytes):
                return calls.ContentReply(content=await workspace.read_file(path, limit_bytes))
            case calls.WriteFile(path=path, content=content):
                await workspace.write_file(path, content)
            case calls.ListPaths() | calls.ListPathsBeside() | calls.SearchText():
                return calls.Lines(lines=await self._list_lines(request))
            case calls.TakeSnapshot():
                return await self._take_snapshot(request)
            case calls.ReadPack(offset=offset):
                return calls.ContentReply(content=self.pack[offset : offset + messages.CHUNK_BYTES])
            case calls.GetUnchangedTree():
                return calls.UnchangedTree(tree=await workspace.get_unchanged_tree())
            case calls.RestoreTree(tree=tree, keeps_ignored=keeps_ignored):
                await workspace.restore_tree(tree, keeps_ignored=keeps_ignored)
            case calls.GetPolicyHash(tier=tier):
                return calls.PolicyHash(hash=await workspace.get_policy_hash(tier))
            case _:
                raise ValueError(f"a workspace does not answer to {request.call!r}")
        return messages.DoneReply()

    async def _list_lines(self, request: calls.ListPaths | calls.ListPathsBeside | calls.SearchText) -> tuple[str, ...]:
        match request:
            case calls.ListPaths(glob=glob):
                return await self.workspace.list_paths(glob)
            case calls.ListPathsBeside(tree=tree, limit=limit):
                return await self.workspace.list_paths_beside(tree, limit)
            case calls.SearchText(pattern=pattern, glob=glob, limit=limit):
                return await self.workspace.search_text(pattern, glob, limit)

    async def close(self) -> None:
        """Close the workspace."""
        await self.workspace.close()

    async def _start_command(self, request: calls.StartCommand) -> messages.DoneReply:
        if request.call_id in self.killed_early:
            return messages.DoneReply()
        self.started.add(request.call_id)
        if not request.has_pipes:
            await self.workspace.start_command(request.call_id, request.command)
        elif request.call_id not in self.pipes:
            self.pipes[request.call_id] = HostPipes(await self.workspace.open_process(request.call_id, request.command))
        return messages.DoneReply()

    async def _kill_command(self, call_id: str) -> None:
        if call_id not in self.started:
            self.killed_early.add(call_id)
        await self.workspace.kill_command(call_id)

    async def _build_finished(self, result: CommandResult | None) -> calls.FinishedCommand:
        if result is None:
            return calls.FinishedCommand()
        log = None
        if result.output_bytes <= _SHORT_BYTES:  # written just now: reading it takes less than the way to a thread
            log = result.log.read_bytes()
        elif result.output_bytes <= _INLINE_BYTES:
            log = await to_thread.run_sync(result.log.read_bytes)
        plain = result.model_copy(update={"files": {}, "log": Path()})
        return calls.FinishedCommand(result=plain, files=result.files, log=log)

    async def _send_input(self, request: calls.SendInput) -> None:
        pipes = self.pipes[request.call_id]
        if request.content:
            await pipes.send_part(request.content)
        if request.is_end:
            await pipes.pipes.close_input()

    async def _receive_output(self, request: calls.ReceiveOutput) -> calls.ReceivedOutput:
        content = None
        with anyio.move_on_after(request.timeout_s):
            content = await self.pipes[request.call_id].receive_part(request.offset, request.limit)
        return calls.ReceivedOutput(content=content)

    async def _take_snapshot(self, request: calls.TakeSnapshot) -> calls.TakenSnapshot:
        git, workspace = self.mirror.git, self.workspace
        taken = await workspace.take_snapshot(  # without a ref: in a mirror nothing is ever pruned
            request.message, None, request.parent, is_followed=request.is_followed
        )
        known = [self.commit, *self.known]
        if request.parent and request.parent not in known and not await find_missing_objects(git, [request.parent]):
            known.append(request.parent)
        self.pack = await pack_objects(git, [taken.commit], known)
        self.known = [*self.known, taken.commit][-_KNOWN_COMMITS:]
        return calls.TakenSnapshot(
            commit=taken.commit,
            tree=taken.tree,
            dropped=taken.dropped,
            flagged=taken.flagged,
            pack=self.pack if len(self.pack) <= _INLINE_BYTES else None,
            size_bytes=len(self.pack),
        )


def _read_part(log: Path, offset: int) -> bytes:
    with log.open("rb") as file:
        file.seek(offset)
        return file.read(messages.CHUNK_BYTES)
