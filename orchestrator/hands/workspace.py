"""A workspace on this host: a leased checkout, commands in a sandbox around it, files from outside."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from pathlib import Path

import anyio
from anyio import to_thread

from orchestrator.domain.ids import CommitId, TreeId
from orchestrator.domain.sandbox.tier import Tier
from orchestrator.errors import EnvironmentProblem, ToolRefused
from orchestrator.hands.execution.command_call import (
    CommandCall,
    CommandCalls,
    check_command,
    create_call,
    read_output_end,
)
from orchestrator.hands.execution.process_pipes import LocalPipes
from orchestrator.hands.execution.program_grants import check_grant, prepare_granted_command
from orchestrator.hands.execution.workspace_mounts import WorkspaceMounts
from orchestrator.hands.execution.workspace_runner import SHORT_BYTES
from orchestrator.hands.files import workspace_files
from orchestrator.hands.files.directory_trees import remove_tree
from orchestrator.hands.files.exchange_folders import ExchangeFolders
from orchestrator.hands.private_copies.borrowed_places import build_borrowed_places
from orchestrator.hands.refusals import NO_REGISTRIES, convert_host_errors, describe_refused_tier
from orchestrator.hands.sandbox.backend import Backend, ExecutionRequest, Mount
from orchestrator.hands.toolchain.shared_paths import find_confidential_files
from orchestrator.hands.watch.change_watch import WatchedTree
from orchestrator.hands.workspace_host import WorkspaceHost
from orchestrator.ports.hands import MAX_WAIT_S, CommandResult, OutputEnd, ShellCommand, Snapshot
from orchestrator.redact.redactor import scrub_log
from worktrees.checkouts.worktree import Worktree
from worktrees.errors import GitError
from worktrees.snapshots.snapshot import WorktreeSnapshot, commit_snapshot_again, snapshot_worktree


class LocalWorkspace:
    """A checkout of one commit on this host; implements `orchestrator.ports.hands.Workspace`.

    `name` is that of its worktree in the pool, `root` the checkout's path on this host. `world` is what its commands
    see of the machine, None without a sandbox. Its `host` is this machine, which has no name.
    """

    host = ""

    def __init__(
        self, host: WorkspaceHost, worktree: Worktree, purpose: str, stale_outputs: frozenset[str] = frozenset()
    ) -> None:
        self._host = host
        self._worktree = worktree
        self.name = worktree.name
        self.root = worktree.root
        self._purpose = purpose
        self._calls = CommandCalls()
        self._own_folder = host.session / worktree.name
        self._exchanges = ExchangeFolders(self._own_folder / "files", host.policy.uid)
        self.world = host.backend.draw_world() if host.backend else None
        self.is_open = True
        self._latest: WorktreeSnapshot | None = None
        """The last snapshot, while nothing was written since but perhaps by commands."""
        self._changes = self._latest_changes = 0
        """The number of commands started and of writes ended so far, and at the last snapshot."""
        self._watched: WatchedTree | None = None
        self._setup = anyio.Lock()
        self._turn_lock = anyio.Lock()
        self._places = build_borrowed_places(
            host.sharing, self.root, self._own_folder, host.checkout, host.policy.uid, stale_outputs
        )
        self._mounts = WorkspaceMounts(host, worktree, self.world, self._places, self._own_folder)

    @property
    def takes_turns(self) -> bool:
        """True if commands that write run one after the other, as one could divert the mounts of the next."""
        return self._host.policy.uid is None and not self._places.has_only_fixed_places()

    async def get_policy_hash(self, tier: Tier) -> str:
        """Return the hash of the policy that commands of a tier run under here."""
        return (await self._host.resolve_tier_policy(tier)).sha

    @property
    def mounts(self) -> tuple[Mount, ...]:
        """The mounts of its commands."""
        backend = self._host.backend
        if backend:
            return backend.build_mounts(self._mounts.build_plan(self._places.list_mounted()))
        return ()

    async def start_command(self, call_id: str, command: ShellCommand) -> None:
        """Start a command, or queue it for a free slot; a no-op if `call_id` was started before."""
        await self._begin_call(call_id, command)

    async def open_process(self, call_id: str, command: ShellCommand) -> LocalPipes:
        """Start a program to speak with; its errors go into its log."""
        if call_id in self._calls:
            raise ValueError(f"a command was started as {call_id!r} already")
        pipes = LocalPipes(self._host.policy.uid)
        try:
            await self._begin_call(call_id, command, pipes)
        except BaseException:
            pipes.close_all()
            raise
        return pipes

    async def _begin_call(self, call_id: str, command: ShellCommand, pipes: LocalPipes | None = None) -> None:
        backend, host = self._host.backend, self._host
        if backend is None:
            raise EnvironmentProblem(host.refusal or "Commands are refused on this host.")
        if not self.is_open:
            raise EnvironmentProblem(f"Workspace {self.name} is closed; open another one.")
        registries = await host.find_registries(command)
        if registries and registries.is_empty and command.grant is None:
            raise ToolRefused(NO_REGISTRIES)
        if call_id in self._calls:
            return
        check_command(command)
        ceiling = min(backend.ceiling, host.ceiling)
        if command.grant is not None:
            ceiling = backend.ceiling
            await to_thread.run_sync(check_grant, command.grant, backend.host_paths)
        if not Tier.FILES < command.tier <= ceiling:
            raise ToolRefused(describe_refused_tier(command.tier, ceiling))
        with convert_host_errors("Could not keep a log for a workspace"):
            call = create_call(call_id, command, host.logs / self.name, pipes)
        self._calls[call_id] = call
        self._changes += 1
        host.tasks.start_soon(self._run_call, backend, call, name=f"{self._purpose} {call_id}")

    async def wait_for_result(self, call_id: str, timeout_s: float = MAX_WAIT_S) -> CommandResult | None:
        """Return the result, or None if the command still runs after `timeout_s` (at most 10) seconds."""
        call = self._calls[call_id]
        with anyio.move_on_after(min(timeout_s, MAX_WAIT_S)):
            await call.done.wait()
        return call.result

    async def read_output(self, call_id: str, limit_bytes: int) -> OutputEnd:
        """Return the last bytes that a started command has printed, while it runs or once it is over."""
        return await to_thread.run_sync(read_output_end, self.get_log_path(call_id), limit_bytes)

    def get_log_path(self, call_id: str) -> Path:
        """Return the file that takes the whole output of a started command."""
        return self._calls[call_id].log

    async def kill_command(self, call_id: str) -> None:
        """End the command and everything it started; return when all of it is dead."""
        call = self._calls.get(call_id)
        if call is not None:
            call.scope.cancel()
            await call.done.wait()

    async def interrupt_commands(self) -> None:
        """End all running commands but those in the background; each gets a result with its output so far."""
        for call_id, call in list(self._calls.items()):
            if call.result is None and not call.command.is_background:
                await self.kill_command(call_id)
                await to_thread.run_sync(scrub_log, call.log, self._host.redactor)

    async def read_file(self, path: str, limit_bytes: int = 1024 * 1024) -> bytes:
        """Return a regular file's content; borrowed files are read where they are borrowed from."""
        root = await to_thread.run_sync(self._places.find_lender_root, workspace_files.normalize_path(path))
        return await to_thread.run_sync(workspace_files.read_file, root or self.root, path, limit_bytes)

    async def write_file(self, path: str, content: bytes) -> None:
        """Replace or create a regular file atomically, keeping an existing file's mode."""
        if await to_thread.run_sync(self._places.is_borrowed, workspace_files.normalize_path(path)):
            raise ToolRefused(f"{path} is shared read-only with other workspaces and cannot be changed.")
        owner = self._host.policy.uid
        try:
            await to_thread.run_sync(workspace_files.write_file, self.root, path, content, owner)
        finally:
            self._forget_snapshot()  # at the end: one that was taken meanwhile may lack it

    async def list_paths(self, glob: str = "**") -> tuple[str, ...]:
        """Return all files that would be in a snapshot and fit the glob, sorted.

        Raises:
            ToolRefused: the glob leaves the workspace.
        """
        with convert_host_errors("Could not list the files of a workspace"):
            await self._clear_places()
            try:
                return await self._worktree.list_paths(glob)
            except GitError as error:
                if error.exit_code is None:  # git was not even asked
                    raise ToolRefused(f"{error}.") from error
                raise

    async def list_untracked(self, *, ignored: bool) -> tuple[str, ...]:
        """Return untracked paths left by commands, sorted: those that git ignores, or those it does not."""
        with convert_host_errors("Could not list the files of a workspace"):
            await self._clear_places()
            return await self._worktree.list_untracked(ignored=ignored)

    async def list_paths_beside(self, tree: TreeId, limit: int) -> tuple[str, ...]:
        """Return the first paths that belong to no file of a tree, places of what is lent included."""
        return await self._worktree.list_paths_beside(tree, limit)

    async def search_text(self, pattern: str, glob: str, limit: int) -> tuple[str, ...]:
        """Return the first `limit` lines that match a POSIX extended regular expression, as `path:line:text`."""
        with convert_host_errors("Could not search a workspace"):
            await self._clear_places()
            try:
                return await self._worktree.search_text(pattern, glob, limit)
            except GitError as error:
                raise ToolRefused(f"The search was refused: {error}.") from error

    async def take_snapshot(
        self, message: str, ref: str | None, parent: CommitId | None = None, *, is_followed: bool = False
    ) -> Snapshot:
        """Commit the content on top of `parent` and point `ref` at it, if there is one."""
        with convert_host_errors("Could not take a snapshot of a workspace"):
            await self._clear_places()
            taken = await self._commit_content(message, ref, parent, is_followed)
        commit, tree = CommitId(taken.commit), TreeId(taken.tree)
        return Snapshot(commit=commit, tree=tree, dropped=taken.dropped, flagged=taken.flagged)

    async def get_unchanged_tree(self) -> TreeId | None:
        """Return the tree of the last snapshot if certainly nothing was written since; else None."""
        taken = self._get_latest()
        return TreeId(taken.tree) if taken is not None else None

    def _get_latest(self) -> WorktreeSnapshot | None:
        """Return the last snapshot if it still holds what is there: no command has run since, or none that wrote."""
        if self._latest is None or self._changes == self._latest_changes:
            return self._latest
        if self._watched is None or not self._is_quiet() or self._watched.has_changed():
            return None
        return self._latest

    def _is_quiet(self) -> bool:
        return all(call.done.is_set() for call in self._calls.values())

    async def _commit_content(
        self, message: str, ref: str | None, parent: CommitId | None, is_followed: bool
    ) -> WorktreeSnapshot:
        if (latest := self._get_latest()) is not None:
            return await commit_snapshot_again(self._worktree, latest, message, ref, parent)
        self._latest = None  # the watch begins anew: if this snapshot fails, the last one is no word on what is there
        changes, is_quiet = self._changes, self._is_quiet()
        if is_quiet:
            await self._begin_watch(is_followed)
        withheld = await to_thread.run_sync(find_confidential_files, self._host.shared)
        taken = await snapshot_worktree(self._worktree, message, ref, parent, withheld=withheld)
        if is_quiet and changes == self._changes:
            self._latest, self._latest_changes = taken, changes
        return taken

    async def _begin_watch(self, is_followed: bool) -> None:
        """Watch what is written from here on, inside a sandbox; at a first snapshot only if it `is_followed`."""
        is_first = self._watched is None
        if self._watched is None:
            self._watched = self._host.watcher.watch_tree(self.root, tuple(self._host.shared))
        if self._host.policy.is_confined and (is_followed or not is_first):
            await to_thread.run_sync(self._watched.begin_watch)

    def _forget_snapshot(self) -> None:
        self._latest = None
        self._changes += 1

    async def restore_tree(self, tree: TreeId, *, keeps_ignored: bool = True) -> None:
        """Make the content equal to `tree`; git's state inside starts afresh. Ignored files stay if `keeps_ignored`."""
        with convert_host_errors("Could not restore a workspace"):
            await self._host.include_objects(tree)
            await self._clear_places()
            try:
                await self._worktree.restore_tree(tree, keeps_ignored=keeps_ignored)
            finally:
                self._forget_snapshot()
            await self._mounts.remove_git()
            if not keeps_ignored:
                await to_thread.run_sync(self._places.copies.forget_copies)

    async def close(self) -> None:
        """Kill what still runs and give the checkout back to the pool."""
        with anyio.CancelScope(shield=True):
            if not self.is_open:
                return
            self.is_open = False
            for call_id, call in self._calls.items():
                await self.kill_command(call_id)
                call.close_pipes()
            if self._host.backend:
                await self._host.backend.release_workspace(self._mounts.build_plan())
            if self._watched is not None:
                self._watched.end_watch()
            with convert_host_errors("Could not give back a workspace"):
                await self._clear_places()
                await to_thread.run_sync(remove_tree, self._own_folder)
                await self._host.pool.release_worktree(self._worktree)

    async def _run_call(self, backend: Backend, call: CommandCall) -> None:
        try:
            with call.scope:
                async with self._get_turn_lock(call.command), self._host.hold_place(call.command):
                    call.result = await self._execute(backend, call)
        finally:
            call.finish_call()

    async def _execute(self, backend: Backend, call: CommandCall) -> CommandResult:
        command, limits = call.command, backend.policy.limits
        try:
            async with self._setup:
                exchange = await self._exchanges.take_folder()  # also where nothing is handed back: it would show
                mount_plan = await self._mounts.prepare_mounts(command, exchange)
            request = ExecutionRequest(
                command=prepare_granted_command(command, self.world),
                mount_plan=mount_plan,
                log=call.log,
                timeout_s=min(command.timeout_s, limits.wall_s),
                output_bytes=min(command.output_bytes, limits.output_bytes),
                exchange=exchange,
                registries=await self._host.find_registries(command),
                pipes=call.pipes.child if call.pipes else None,
            )
            async with self._watch_files(command) as watched:
                outcome = await backend.run_command(request)
            await self._scrub_log(call, outcome.output_bytes)
            files = await self._exchanges.collect_files(exchange, command.files)
        except OSError as error:
            return call.build_not_started_result(f"The host could not prepare the command: {error}.")
        return outcome.model_copy(update={"files": files, "world": self.world, **watched})

    @asynccontextmanager
    async def _watch_files(self, command: ShellCommand) -> AsyncIterator[Mapping[str, tuple[str, ...] | None]]:
        """Watch the files of the workspace while the block runs, if that is asked for; fill what it yields at its end.

        Keys are those fields of a result that say what was opened and written.
        """
        found: dict[str, tuple[str, ...] | None] = {}
        if not command.is_watched:
            yield found
            return
        from orchestrator.hands.watch.file_watch import FileWatch

        watch = await to_thread.run_sync(FileWatch, self.root, tuple(self._host.shared))
        try:
            yield found
        finally:
            with anyio.CancelScope(shield=True):
                files = await to_thread.run_sync(watch.finish_watch)
        found.update(files._asdict())

    def _get_turn_lock(self, command: ShellCommand) -> AbstractAsyncContextManager[object]:
        """Return a lock that runs commands one by one where one could divert the mounts of the next.

        Root's outer sandbox makes the host unwritable for that; without it only directories at the top are safe. One
        in the background that cannot write diverts nothing.
        """
        is_safe = not self.takes_turns or (command.is_background and not command.writable)
        return nullcontext() if is_safe else self._turn_lock

    async def _scrub_log(self, call: CommandCall, size_bytes: int) -> None:
        """Clean the log of a command that has ended; a short one takes less time than the way to a thread."""
        if size_bytes <= SHORT_BYTES:
            scrub_log(call.log, self._host.redactor)
        else:
            await to_thread.run_sync(scrub_log, call.log, self._host.redactor)

    async def _clear_places(self) -> None:
        """Leave in the workspace only what is its own. What running commands use stays, but for empty files."""
        if not self._host.shared:
            return
        async with self._setup:
            if all(call.result is not None for call in self._calls.values()):
                await to_thread.run_sync(self._places.clear_places)
            else:
                await to_thread.run_sync(workspace_files.remove_mount_points, self.root, self._places.list_mounted())
