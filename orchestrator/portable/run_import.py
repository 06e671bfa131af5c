"""Importing a run: all is examined first; then come objects, blobs, refs, and last the journal, which makes it a run.

A kill in between leaves objects that nothing points at, or refs of a run that is not known: importing again ends it.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

from anyio import to_thread

from orchestrator.config.live_config import build_effective_config
from orchestrator.domain.commands.definitions import Configure, InboxCommand
from orchestrator.domain.refs import RunRefs
from orchestrator.domain.run.state import RunState
from orchestrator.errors import JournalProblem, PersonNeeded, UsageProblem
from orchestrator.hands.files.session_folder import open_session
from orchestrator.journal.locations.run_directory import RunDirectory, StateDirectory
from orchestrator.journal.storage.blobs import BlobStore
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.journal.storage.file_copy import replace_journal
from orchestrator.portable.archive_check import CheckedArchive, check_archive
from orchestrator.portable.manifest import Manifest
from worktrees.durable_files import move_durably, sync_file
from worktrees.errors import GitError
from worktrees.object_store.merge import is_ancestor
from worktrees.ref_store.refs import list_refs, move_refs, read_ref
from worktrees.repositories.repository import GitRepository

ImportEffect = Literal["new", "continued", "unchanged"]


class LocalRunAhead(UsageProblem):
    """The run is here already, and what is here goes on from what the archive has."""


@dataclass(frozen=True)
class ImportedRun:
    """A run that is here now, and the settings that it came with.

    `moved` are the refs that were made or moved; `how` is what became of its journal.
    """

    manifest: Manifest
    directory: RunDirectory
    effect: ImportEffect
    moved_refs: tuple[str, ...]
    settings: Mapping[str, Any]


ReplaceSettings = Callable[[Mapping[str, Any]], dict[str, Any]]
"""The settings that are to hold instead of those that came with a run."""


async def import_run(
    repository: GitRepository,
    state: StateDirectory,
    archive: Path,
    instead: ReplaceSettings | None = None,
    require: Callable[[RunState], None] | None = None,
) -> ImportedRun:
    """Take a run in from an archive.

    `require` raises where the run as it stands may not come here.

    Raises:
        UsageProblem: the archive is not sound, not of this repository, or the run has gone on here.
        RunLocked: a process works on the run here.
        PersonNeeded: the PR branch would have to move while somebody has it checked out.
    """
    with _open_staging(state) as place:
        arrived = await check_archive(repository, archive, place)
        settings = _settings(arrived, archive)
        if require:
            require(arrived.history.state)
        directory = state.get_run(arrived.manifest.run)
        # refused before even a lock file is made
        await to_thread.run_sync(_compare_histories, directory, arrived.journal)
        await _plan_ref_moves(repository, arrived)
        with directory.hold_lock():
            how = await to_thread.run_sync(_compare_histories, directory, arrived.journal)
            moves = await _plan_ref_moves(repository, arrived)
            if instead and how != "unchanged":
                _change_settings(directory, instead(settings))
            moved = await _put_in_place(repository, arrived, directory, how, moves)
    return ImportedRun(arrived.manifest, directory, how, moved, settings)


@contextmanager
def _open_staging(state: StateDirectory) -> Iterator[Path]:
    """Open a directory of this process's own, swept by the next one if this one is killed."""
    with open_session(state.path) as session:
        place = session / "import"
        place.mkdir()
        yield place


def _compare_histories(directory: RunDirectory, journal: Path) -> ImportEffect:
    """Return how the archive's history relates to the one that is here.

    Raises:
        UsageProblem: it does not.
    """
    if not directory.journal.exists():
        return "new"
    missing, extra = 0, 0
    for here, there in zip_longest(read_all_events(directory.journal), read_all_events(journal)):
        if here is not None and there is not None and here != there:
            raise UsageProblem(
                f"run {directory.run} has another history here from event {here.seq} on, because it went on in both "
                "places; nothing was changed. To take the archive's, first save the one that is here with `orchestrate "
                f"run export`, if you need it, and remove it with `orchestrate gc --run {directory.run}`"
            )
        missing += here is None
        extra += there is None
    if extra:
        text = f"run {directory.run} is further here, by {extra} events, than in the archive; nothing was changed"
        raise LocalRunAhead(text)
    return "continued" if missing else "unchanged"


RefMoves = dict[str, tuple[str | None, str | None]]


async def _plan_ref_moves(repository: GitRepository, arrived: CheckedArchive) -> RefMoves:
    """Return each ref that has to change, with its new and present value; work that it held is kept beside it."""
    manifest, moves = arrived.manifest, RefMoves()
    own = RunRefs(manifest.run)
    present = await list_refs(repository.git, own.prefix)
    for ref, new in manifest.refs.items():
        old = present.get(ref)
        if old == new:
            continue
        moves[ref] = (new, old)
        if old is not None and (backup := own.build_backup_ref(ref, old)):
            moves[backup] = (old, present.get(backup))
    await _move_branch(repository, arrived, moves)
    return {ref: move for ref, move in moves.items() if move[0] != move[1]}


async def _move_branch(repository: GitRepository, arrived: CheckedArchive, moves: RefMoves) -> None:
    """Make the PR branch or move it forward; leave it where it is if it holds what is to be landed already.

    A branch that stands on what a restart left behind moves to where the run stands now; all of it came along.
    """
    head, branch, git = arrived.manifest.head, arrived.manifest.branch, arrived.quarantine.git
    tip = await read_ref(repository.git, arrived.branch_ref)
    is_left = tip is not None and await _is_left_behind(arrived, tip)
    if not is_left and (head is None or (tip is not None and await is_ancestor(git, head, tip))):
        return
    if head is not None and tip is not None and not is_left and not await is_ancestor(git, tip, head):
        raise UsageProblem(
            f"the branch {branch} stands at {tip[:12]} here and at {head[:12]} in the archive, and neither holds the "
            f"other; nothing was changed. Rename the one that is here (git branch -m {branch} NAME), then import again"
        )
    place = (await to_thread.run_sync(repository.list_checked_out_branches)).get(branch)
    if place is not None:
        raise PersonNeeded(
            f"the PR branch {branch} is checked out in {place} and would have to move: switch that checkout to "
            "another branch, then import again"
        )
    moves[arrived.branch_ref] = (head, tip)


async def _is_left_behind(arrived: CheckedArchive, tip: str) -> bool:
    """Return True if a restart left a commit behind, and the run has not landed it again."""
    head, git = arrived.manifest.head, arrived.quarantine.git
    if head is not None and await is_ancestor(git, tip, head):
        return False
    for line in arrived.history.state.goal.left_lines:
        if await is_ancestor(git, tip, line.tip):
            return True
    return False


async def _put_in_place(
    repository: GitRepository, arrived: CheckedArchive, directory: RunDirectory, how: ImportEffect, moves: RefMoves
) -> tuple[str, ...]:
    """Return the order is what makes a kill harmless: nothing points at what is not there yet."""
    await arrived.quarantine.release_objects()
    await to_thread.run_sync(_put_blobs, arrived.blobs, BlobStore(directory.blobs))
    try:
        await move_refs(repository.git, moves, f"orchestrate: import of {arrived.manifest.run}")
    except GitError as error:
        raise UsageProblem(f"the run's refs cannot be set: {error}; mend that, then import again") from error
    if how != "unchanged":
        await to_thread.run_sync(_put_journal, arrived.journal, directory)
    return tuple(sorted(moves))


def _settings(arrived: CheckedArchive, archive: Path) -> dict[str, Any]:
    """Return all settings of the run as they stood at last."""
    try:
        return build_effective_config(arrived.history.state).model_dump(mode="json", by_alias=True)
    except UsageProblem as problem:
        raise UsageProblem(f"{archive} cannot be imported: the run's settings are not sound ({problem})") from problem


def _change_settings(directory: RunDirectory, settings: dict[str, Any]) -> None:
    """Leave a command that the next engine takes before it does anything else; it is there before the journal is."""
    command = Configure(settings=settings, is_all=True)
    directory.inbox.send_command(InboxCommand(key=uuid4().hex, at=datetime.now(UTC), by="run import", command=command))


def _put_blobs(arrived: Mapping[str, Path], blobs: BlobStore) -> None:
    for sha, path in arrived.items():
        try:
            blobs.read_blob(sha)
        except JournalProblem:
            blobs.get_blob_path(sha).unlink(missing_ok=True)
            blobs.write_blob(path.read_bytes())


def _put_journal(journal: Path, directory: RunDirectory) -> None:
    if directory.journal.exists():
        replace_journal(directory.journal, journal)
        return
    for leftover in ("journal.db-wal", "journal.db-shm"):
        (directory.path / leftover).unlink(missing_ok=True)
    sync_file(journal)
    move_durably(journal, directory.journal)
