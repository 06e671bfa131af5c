"""A workspace on another host, as the engine sees it: every call goes there, and what it makes comes back."""

import hashlib
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
from anyio import to_thread

from orchestrator.domain.ids import CommitId, TreeId, make_slug
from orchestrator.domain.sandbox.tier import Tier
from orchestrator.errors import EnvironmentProblem, HostLost, ToolRefused
from orchestrator.hands.hosts import calls, messages
from orchestrator.hands.hosts.code_sender import CodeSender
from orchestrator.hands.hosts.links import HostLink, ask_host
from orchestrator.hands.hosts.remote_pipes import RemotePipes
from orchestrator.hands.refusals import convert_host_errors
from orchestrator.ports.hands import MAX_WAIT_S, CommandResult, OutputEnd, ShellCommand, Snapshot
from orchestrator.redact.redactor import PATTERN_REDACTOR, Redactor, scrub_log
from worktrees.object_store.merge import EPOCH_DATE, commit_tree
from worktrees.object_store.pack_transfer import store_pack
from worktrees.ref_store.refs import set_ref
from worktrees.safety.private_directory import create_private_directory

NO_GRANTED_PROGRAMS = (
    "A program with a grant of its own sees files and credentials of the machine that the run is on, so it runs on no "
    "other host."
)


@dataclass
class RemoteWorkspace:
    """A checkout of one commit on another host; implements `orchestrator.ports.hands.Workspace`.

    `opened` is the host's own word on it. Outputs of its commands are kept in `logs`, cleaned by `redactor`.
    `on_closed` is called once, when it is closed or was found lost.
    """

    link: HostLink
    sender: CodeSender
    commit: CommitId
    opened: messages.OpenedWorkspace
    logs: Path
    on_closed: Callable[[], Awaitable[None]]
    redactor: Redactor = PATTERN_REDACTOR
    _latest: Snapshot | None = None
    """The last snapshot, while nothing was started or written since, or the host says that nothing has changed."""
    _fetched: Snapshot | None = None
    """The last snapshot that the host took."""
    _changes: int = 0
    """The number of calls that may write, at their beginnings and ends, so far."""
    _may_write_late: bool = False
    """True once a call that may write was cancelled: the host may still carry it out, and is always asked."""
    _results: dict[str, CommandResult] = field(default_factory=dict)
    _started: set[str] = field(default_factory=set)
    _policies: dict[Tier, str] = field(default_factory=dict)
    _is_open: bool = True

    @property
    def name(self) -> str:
        """Its name in the pool of its host."""
        return self.opened.name

    @property
    def host(self) -> str:
        """The host that it is on."""
        return self.link.host

    @property
    def takes_turns(self) -> bool:
        """True if commands that write run one after the other."""
        return self.opened.takes_turns

    async def get_policy_hash(self, tier: Tier) -> str:
        """Return the hash of the policy that commands of a tier run under there."""
        if tier not in self._policies:
            reply = await ask_host(self.link, calls.GetPolicyHash(workspace=self._id, tier=tier))
            self._policies[tier] = reply.hash
        return self._policies[tier]

    async def start_command(self, call_id: str, command: ShellCommand) -> None:
        """Start a command; a no-op if `call_id` was started before."""
        await self._start(call_id, command, has_pipes=False)

    async def open_process(self, call_id: str, command: ShellCommand) -> RemotePipes:
        """Start a program to speak with."""
        if call_id in self._started:
            raise ValueError(f"a command was started as {call_id!r} already")
        await self._start(call_id, command, has_pipes=True)
        return RemotePipes(self.link, self._id, call_id)

    async def _start(self, call_id: str, command: ShellCommand, *, has_pipes: bool) -> None:
        if not self._is_open:
            raise EnvironmentProblem(f"Workspace {self.name} on host {self.host} is closed; open another one.")
        if command.grant is not None:
            raise ToolRefused(NO_GRANTED_PROGRAMS)
        request = calls.StartCommand(workspace=self._id, call_id=call_id, command=command, has_pipes=has_pipes)
        with self._expect_change():
            await ask_host(self.link, request)
            self._started.add(call_id)

    async def wait_for_result(self, call_id: str, timeout_s: float = MAX_WAIT_S) -> CommandResult | None:
        """Return the result, or None if the command still runs after `timeout_s` (at most 10) seconds."""
        if call_id in self._results:
            return self._results[call_id]
        timeout_s = min(timeout_s, MAX_WAIT_S)
        asked = calls.WaitForResult(workspace=self._id, call_id=call_id, timeout_s=timeout_s)
        finished = await ask_host(self.link, asked)
        if finished.result is None:
            return None
        log = await self._keep_log(call_id, finished)
        self._results[call_id] = finished.result.model_copy(update={"log": log, "files": finished.files})
        return self._results[call_id]

    async def _keep_log(self, call_id: str, finished: calls.FinishedCommand) -> Path:
        """Keep the whole output of a command on this machine, and return its file."""
        name = f"{make_slug(call_id)}-{hashlib.sha256(call_id.encode(errors='surrogateescape')).hexdigest()[:8]}"
        with convert_host_errors("Could not keep the output of a command"):
            log = self.logs / f"{name}.log"
            await to_thread.run_sync(self._write_log, log, finished.log or b"")
            if finished.log is None:
                await self._fetch_log(call_id, log)
                await to_thread.run_sync(scrub_log, log, self.redactor)
        return log

    def _write_log(self, log: Path, content: bytes) -> None:
        create_private_directory(log.parent)
        log.write_bytes(content)
        scrub_log(log, self.redactor)

    async def _fetch_log(self, call_id: str, log: Path) -> None:
        offset = 0
        async with await anyio.open_file(log, "wb") as file:
            while True:
                asked = calls.ReadLog(workspace=self._id, call_id=call_id, offset=offset)
                content = (await ask_host(self.link, asked)).content
                if not content:
                    return
                await file.write(content)
                offset += len(content)

    async def read_output(self, call_id: str, limit_bytes: int) -> OutputEnd:
        """Return the last bytes that a started command has printed, while it runs or once it is over."""
        asked = calls.ReadOutput(workspace=self._id, call_id=call_id, limit_bytes=limit_bytes)
        end = await ask_host(self.link, asked)
        return OutputEnd(content=end.content, is_cut=end.is_cut)

    async def kill_command(self, call_id: str) -> None:
        """End the command and everything it started; return when all of it is dead, or its host is lost."""
        try:
            await ask_host(self.link, calls.KillCommand(workspace=self._id, call_id=call_id))
        except HostLost:
            return

    async def interrupt_commands(self) -> None:
        """End all running commands but those in the background."""
        await ask_host(self.link, calls.InterruptCommands(workspace=self._id))

    async def read_file(self, path: str, limit_bytes: int = 1024 * 1024) -> bytes:
        """Return a regular file's content."""
        asked = calls.ReadFile(workspace=self._id, path=path, limit_bytes=limit_bytes)
        return (await ask_host(self.link, asked)).content

    async def write_file(self, path: str, content: bytes) -> None:
        """Replace or create a regular file atomically, keeping an existing file's mode."""
        with self._expect_change():
            await ask_host(self.link, calls.WriteFile(workspace=self._id, path=path, content=content))

    async def list_paths(self, glob: str = "**") -> tuple[str, ...]:
        """Return all files that would be in a snapshot and fit the glob, sorted."""
        return (await ask_host(self.link, calls.ListPaths(workspace=self._id, glob=glob))).lines

    async def list_paths_beside(self, tree: TreeId, limit: int) -> tuple[str, ...]:
        """Return the first paths that belong to no file of a tree, places of what is lent included."""
        await self.sender.send_objects(tree)
        asked = calls.ListPathsBeside(workspace=self._id, tree=tree, limit=limit)
        return (await ask_host(self.link, asked)).lines

    async def search_text(self, pattern: str, glob: str, limit: int) -> tuple[str, ...]:
        """Return the first `limit` lines that match a POSIX extended regular expression, as `path:line:text`."""
        asked = calls.SearchText(workspace=self._id, pattern=pattern, glob=glob, limit=limit)
        return (await ask_host(self.link, asked)).lines

    async def take_snapshot(
        self, message: str, ref: str, parent: CommitId | None = None, *, is_followed: bool = False
    ) -> Snapshot:
        """Commit the content on top of `parent`, have the commit in this machine's repository, and point `ref` at it.

        Where nothing was touched since the last snapshot, the host is not asked.
        """
        git = self.sender.repository.git
        with convert_host_errors("Could not keep a snapshot of a workspace"):
            if (latest := self._latest) is not None:
                commit = await commit_tree(git, latest.tree, [parent or self.commit], message, EPOCH_DATE)
                taken = latest.model_copy(update={"commit": CommitId(commit)})
            else:
                taken = await self._fetch_snapshot(message, parent, is_followed=is_followed)
            await set_ref(git, ref, taken.commit)
        return taken

    async def _fetch_snapshot(self, message: str, parent: CommitId | None, *, is_followed: bool) -> Snapshot:
        changes = self._changes
        if parent is not None and parent != self.commit:
            await self.sender.send_objects(parent)
        asked = calls.TakeSnapshot(workspace=self._id, message=message, parent=parent, is_followed=is_followed)
        taken = await ask_host(self.link, asked)
        pack = await self._fetch_pack(taken.size_bytes) if taken.pack is None else taken.pack
        await store_pack(self.sender.repository, pack)
        self.sender.remember_object(taken.tree)
        snapshot = Snapshot(commit=taken.commit, tree=taken.tree, dropped=taken.dropped, flagged=taken.flagged)
        self._fetched = snapshot
        if changes == self._changes and self._is_quiet():
            self._latest = snapshot
        return snapshot

    async def _fetch_pack(self, size_bytes: int) -> bytes:
        pack = bytearray()
        while len(pack) < size_bytes:
            asked = calls.ReadPack(workspace=self._id, offset=len(pack))
            pack += (await ask_host(self.link, asked)).content
        return bytes(pack)

    async def get_unchanged_tree(self) -> TreeId | None:
        """Return the tree of the last snapshot if certainly nothing was written since; else None."""
        if self._latest is not None:
            return self._latest.tree
        fetched, changes = self._fetched, self._changes
        tree = (await ask_host(self.link, calls.GetUnchangedTree(workspace=self._id))).tree
        is_as_fetched = fetched is not None and tree == fetched.tree
        is_as_asked = (fetched, changes) == (self._fetched, self._changes)
        if is_as_fetched and is_as_asked and not self._may_write_late:
            self._latest = fetched
        return tree

    def _is_quiet(self) -> bool:
        """Return True if nothing runs there that may write, as far as is known here."""
        return not self._may_write_late and all(call in self._results for call in self._started)

    @contextmanager
    def _expect_change(self) -> Iterator[None]:
        """Forget the last snapshot as a call that may write begins, and again as it ends."""
        self._forget_snapshot()
        try:
            yield
        except anyio.get_cancelled_exc_class():
            self._may_write_late = True
            raise
        finally:
            self._forget_snapshot()

    def _forget_snapshot(self) -> None:
        self._latest = None
        self._changes += 1

    async def restore_tree(self, tree: TreeId, *, keeps_ignored: bool = True) -> None:
        """Make the content equal to `tree`. Ignored files stay if `keeps_ignored`."""
        with convert_host_errors("Could not restore a workspace"):
            await self.sender.send_objects(tree)
        asked = calls.RestoreTree(workspace=self._id, tree=tree, keeps_ignored=keeps_ignored)
        with self._expect_change():
            await ask_host(self.link, asked)

    async def close(self) -> None:
        """Kill what still runs and give the checkout back; of a lost host there is nothing to give back."""
        if not self._is_open:
            return
        self._is_open = False
        with anyio.CancelScope(shield=True):
            try:
                await ask_host(self.link, calls.CloseWorkspace(workspace=self._id))
            except HostLost:
                return
            finally:
                await self.on_closed()

    @property
    def _id(self) -> str:
        return self.opened.workspace
