"""`gc`: remove what may go. Work that did not land stays unless its run is named.

A kill at any moment is harmless. A run that is to go is first moved out of the runs in one step; the place it is moved
to tells the next `gc` what is left to remove.
"""

import os
from collections.abc import Container, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from anyio import to_thread

from orchestrator.domain.ids import RunId
from orchestrator.domain.refs import RunRefs, is_own_ref, parse_run
from orchestrator.errors import EnvironmentProblem, JournalProblem, RunLocked
from orchestrator.hands.deps.store import DepsStore
from orchestrator.hands.files.directory_trees import remove_tree
from orchestrator.hands.files.session_folder import find_old_logs
from orchestrator.hands.local import build_worktree_pool
from orchestrator.journal.locations.disk_usage import measure_tree_bytes
from orchestrator.journal.locations.run_directory import RunDirectory, StateDirectory
from orchestrator.journal.receipt_directory import ReceiptDirectory
from orchestrator.journal.state.derivation import read_state
from orchestrator.project.options import Options, ProjectContext, load_project_context
from orchestrator.provisioning.dependencies import DEPS_DIRECTORY
from orchestrator.report.read_model import Document
from orchestrator.retention.policy import KeptRun, find_reason_to_keep, select_expired_runs
from worktrees.durable_files import move_durably
from worktrees.errors import LockedRepository
from worktrees.locks.file_lock import try_file_lock
from worktrees.locks.git_lock_files import find_repository_locks, get_locked_ref, remove_lock
from worktrees.ref_store.refs import delete_refs, list_refs
from worktrees.safety.private_directory import create_private_directory

_DAY_S = 24 * 3600.0
_CACHES = ("search.db", "snapshot")
"""The prefixes of files beside a journal that can be derived from it anew."""


@dataclass(frozen=True)
class CollectionRequest:
    """A request to remove runs: named ones in any case, others only by policy and if nothing would be lost."""

    named: tuple[str, ...] = ()
    by_policy: bool = False
    is_dry: bool = False


class CollectionResult(Document, frozen=False, schema="orchestrate.gc/1"):
    """The output of `gc`: what was removed, or would be. `kept` are the runs past retention that stay, and why.

    `receipts` is how many kept for later runs are too old to be used. `locks` are refs of ours that dead processes
    had locked, `locked` tells of the lock files that stay and the way on.
    """

    dry_run: bool
    workspaces: tuple[str, ...] = ()
    runs: tuple[RunId, ...] = ()
    refs: tuple[str, ...] = ()
    logs: tuple[str, ...] = ()
    caches: tuple[str, ...] = ()
    locks: tuple[str, ...] = ()
    locked: tuple[str, ...] = ()
    deps: tuple[str, ...] = ()
    receipts: int = 0
    kept: tuple[KeptRun, ...] = ()
    freed_bytes: int = 0


async def collect_garbage(options: Options, request: CollectionRequest) -> CollectionResult:
    """Remove idle workspaces, old outputs and caches, and the runs that may go.

    Raises:
        RunLocked: a process works on a named run, or another `gc` is at work; nothing was removed.
        UsageProblem: there is no such run.
    """
    project = await to_thread.run_sync(load_project_context, options)
    named = {project.state.find_run(run).run for run in request.named}
    with ExitStack() as stack:
        for run in map(project.state.get_run, named):
            stack.enter_context(run.hold_lock())
    with _hold_collection_lock(project.state):
        collection = _Collection(project, named, request.is_dry)
        await collection.finish_removals()
        await collection.sweep_locks()
        await collection.drop_workspaces()
        await collection.drop_leftovers()
        await collection.drop_runs(by_policy=request.by_policy or project.config.gc.runs)
        return collection.result


@contextmanager
def _hold_collection_lock(state: StateDirectory) -> Iterator[None]:
    try:
        create_private_directory(state.path)
        lock = try_file_lock(state.path / "gc.lock")
    except OSError as error:
        raise EnvironmentProblem(f"cannot write {state.path}: {error.strerror}") from error
    if lock is None:
        raise RunLocked(f"another `orchestrate gc` is at work in {state.path}: wait for it")
    try:
        yield
    finally:
        os.close(lock)


class _Collection:
    """One `gc`; `result` holds what it has removed so far, or would have."""

    def __init__(self, project: ProjectContext, named: set[RunId], is_dry: bool) -> None:
        self.result = CollectionResult(dry_run=is_dry)
        self._git = project.repository.git
        self._pool = build_worktree_pool(project.repository, project.state.path)
        self._state = project.state
        self._limits = project.config.gc
        self._gate = project.config.gate
        self._named = named
        last_writes = [(run.run, _read_last_write(run)) for run in project.state.list_runs()]
        self._expired = select_expired_runs(last_writes, datetime.now(UTC), project.config.gc)

    async def finish_removals(self) -> None:
        """Go on with the runs that an earlier `gc` had begun to remove when it was killed."""
        for path in sorted(_list_children(self._trash)):
            run = self._state.get_run(RunId(path.name))
            await self._remove_contents(run, path, has_refs=not run.journal.exists())

    async def sweep_locks(self) -> None:
        """Remove dead processes' locks on our refs, but not of runs that a process works on; report all others."""
        found = await find_repository_locks(self._git.git_dir)
        for lock in found.dead:
            ref = get_locked_ref(self._git.git_dir, lock.path)
            if not (is_own_ref(ref) and self._is_idle(ref)):
                self.result.locked += (str(LockedRepository.for_held_lock(lock.path, ())),)
            elif self.result.dry_run or remove_lock(lock):
                self.result.locks += (ref,)
        for lock, holders in found.held.items():
            self.result.locked += (str(LockedRepository.for_held_lock(lock.path, holders)),)

    def _is_idle(self, ref: str) -> bool:
        """Return True if no process works on the run that a ref belongs to."""
        return all(map(_is_idle, self._select_runs({parse_run(ref)})))

    async def drop_workspaces(self) -> None:
        """Remove the worktrees that nobody leases."""
        idle = await to_thread.run_sync(self._pool.list_idle_worktrees)
        sizes = {}
        for name in idle:
            sizes[name] = await to_thread.run_sync(measure_tree_bytes, self._state.path / "worktrees" / name)
        self.result.workspaces = idle
        if not self.result.dry_run:
            self.result.workspaces = await self._pool.remove_idle_worktrees()
        for name in self.result.workspaces:
            self.result.freed_bytes += sizes.get(name, 0)

    async def drop_leftovers(self) -> None:
        """Remove old outputs and caches, and run directories in which no run ever began."""
        if self._limits.keep_days:
            logs = await to_thread.run_sync(find_old_logs, self._state.path, self._limits.keep_days * _DAY_S)
            await self._remove_paths(logs)
            self.result.logs = tuple(folder.name for folder in logs)
            store = DepsStore(self._state.path / DEPS_DIRECTORY)
            await self._remove_dependency_sets(store, self._limits.keep_days * _DAY_S)
        await self._remove_old_receipts()
        for run in self._select_runs(self._expired - self._named):
            await self._remove_caches(run)
        for path in _list_children(self._state.path / "runs"):
            await self._remove_unstarted_run(RunDirectory(path))

    async def _remove_old_receipts(self) -> None:
        """Remove what runs have kept of their receipts for later ones, where it is too old to be taken over."""
        receipts = ReceiptDirectory.open_for(self._state.path, self._gate.reuse_days, self._gate.reuse_mb)
        old = await to_thread.run_sync(receipts.list_old_files)
        await self._remove_paths(old)
        self.result.receipts = len(old)

    async def _remove_dependency_sets(self, store: DepsStore, unused_s: float) -> None:
        """Remove dependency sets that no run has used for `unused_s` seconds."""
        for key in await to_thread.run_sync(store.list_unused_keys, unused_s):
            found = [path for path in (store.root / key, store.root / f"{key}.new") if path.exists()]
            if found:
                self.result.deps += (key,)
            for path in found:
                self.result.freed_bytes += await to_thread.run_sync(measure_tree_bytes, path)
            if not self.result.dry_run:
                await to_thread.run_sync(store.remove_entry, key)

    async def drop_runs(self, *, by_policy: bool) -> None:
        """Remove the named runs, and by policy those past retention in which nothing would be lost."""
        wanted = set(self._named)
        if by_policy:
            wanted |= self._expired
        for run in self._select_runs(wanted):
            kept = None
            try:
                with run.hold_lock():
                    if run.run not in self._named:
                        kept = await self._find_reason_to_keep(run)
                    if kept is None:
                        await self._remove_run(run)
            except RunLocked as locked:
                if run.run in self._named:
                    raise
                kept = KeptRun(run.run, str(locked).partition(" is ")[2])
            if kept is not None:
                self.result.kept += (kept,)

    @property
    def _trash(self) -> Path:
        return self._state.path / "removed"

    def _select_runs(self, wanted: Container[str | None]) -> list[RunDirectory]:
        return [run for run in self._state.list_runs() if run.run in wanted]

    async def _find_reason_to_keep(self, run: RunDirectory) -> KeptRun | None:
        try:
            state = await to_thread.run_sync(read_state, run.journal)
        except JournalProblem as problem:
            return KeptRun(run.run, f"its journal cannot be read: {problem}")
        return await find_reason_to_keep(self._git, state) if state.started else None

    async def _remove_run(self, run: RunDirectory) -> None:
        """Remove a run. The caller holds its lock, which moves along with the run."""
        self.result.runs += (run.run,)
        if self.result.dry_run:
            await self._remove_contents(run, run.path, has_refs=True)
            return
        path = self._trash / run.run
        await to_thread.run_sync(_move_aside, run.path, path)
        await self._remove_contents(run, path, has_refs=True)

    async def _remove_contents(self, run: RunDirectory, path: Path, *, has_refs: bool) -> None:
        refs: list[str] = []
        if has_refs:
            refs += await list_refs(self._git, RunRefs(run.run).prefix)
        self.result.refs += tuple(refs)
        if not self.result.dry_run:
            await delete_refs(self._git, refs)
        await self._remove_paths([path])

    async def _remove_caches(self, run: RunDirectory) -> None:
        """Remove the caches of a run that has ended; a reader that has one open keeps it until it closes it."""
        files = [file for file in _list_children(run.path) if file.name.startswith(_CACHES)]
        logs = [run.logs] if run.logs.is_dir() else []
        if not (files or logs) or not _is_idle(run) or not await to_thread.run_sync(_has_ended, run):
            return
        await self._remove_paths([*files, *logs])
        for file in files:
            self.result.caches += (f"{run.run}/{file.name}",)
        for folder in logs:
            self.result.logs += (f"{run.run}/{folder.name}",)

    async def _remove_unstarted_run(self, run: RunDirectory) -> None:
        """Remove what an import or a start left that was killed before there was a journal."""
        if run.journal.exists() or datetime.now(UTC).timestamp() - run.path.stat().st_mtime < _DAY_S:
            return
        with suppress(RunLocked), run.hold_lock():
            if not run.journal.exists():
                await self._remove_paths([run.path])

    async def _remove_paths(self, paths: Sequence[Path]) -> None:
        for path in paths:
            self.result.freed_bytes += await to_thread.run_sync(measure_tree_bytes, path)
            if not self.result.dry_run:
                await to_thread.run_sync(_remove_path, path)


def _read_last_write(run: RunDirectory) -> datetime | None:
    files = [run.journal, run.journal.with_name("journal.db-wal")]
    times = [file.stat().st_mtime for file in files if file.exists()]
    return datetime.fromtimestamp(max(times), UTC) if times else None


def _has_ended(run: RunDirectory) -> bool:
    try:
        return read_state(run.journal).ended is not None
    except JournalProblem:
        return False


def _is_idle(run: RunDirectory) -> bool:
    try:
        with run.hold_lock():
            return True
    except RunLocked:
        return False


def _list_children(path: Path) -> list[Path]:
    return sorted(path.iterdir()) if path.is_dir() else []


def _move_aside(source: Path, target: Path) -> None:
    """Rename a directory durably before anything else is removed."""
    create_private_directory(target.parent)
    _remove_path(target)
    move_durably(source, target)


def _remove_path(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        remove_tree(path)
    else:
        path.unlink(missing_ok=True)
