"""Exporting a run: what its journal says at one moment, with everything in git and on disk that this rests on."""

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from anyio import to_thread

from orchestrator import __version__
from orchestrator.domain.event.run import RunStarted
from orchestrator.domain.ids import CommitId
from orchestrator.domain.refs import RunRefs
from orchestrator.domain.run.state import RunState
from orchestrator.errors import EnvironmentProblem, JournalProblem, UsageProblem
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.journal.storage.blobs import BlobStore
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.journal.storage.file_copy import copy_journal
from orchestrator.portable.archive import write_archive
from orchestrator.portable.journal_references import JournalHistory, JournalReferences
from orchestrator.portable.manifest import JOURNAL_FILE, OBJECTS_FILE, ArchiveMember, Manifest, get_blob_name
from worktrees.errors import GitError
from worktrees.git import Git
from worktrees.object_store.bundle_header import BundleHeader
from worktrees.object_store.merge import is_ancestor
from worktrees.object_store.packs import find_existing_objects, find_prerequisites, read_object_format, write_pack
from worktrees.ref_store.refs import list_refs, read_ref

_CHUNK = 1024 * 1024


@dataclass(frozen=True)
class ArchiveExport:
    """The content of an archive of `size` bytes."""

    manifest: Manifest
    size: int


async def export_run(
    git: Git, run: RunDirectory, target: Path, scratch: Path, *, is_whole: bool = False
) -> ArchiveExport:
    """Write the archive of a run to `target`, also while an engine works on it; `scratch` is an empty directory.

    Refs are read before the journal, and what the journal knows better is taken from it: so nothing that the archive's
    refs hold is unknown to its journal, and a resume from it is one after a crash at that moment. `is_whole` takes all
    history along, for repositories that do not have the run's base.

    Raises:
        JournalProblem: the journal cannot be read.
        EnvironmentProblem: the archive cannot be written, or git lacks objects that the run needs.
    """
    before = await list_refs(git, RunRefs(run.run).prefix)
    branch_before = await _branch_tip(git, run)
    journal = await to_thread.run_sync(_read, run, scratch / JOURNAL_FILE)
    refs = _collect_refs(before, journal.state)
    head = await _find_head(git, journal.state, branch_before)
    needed = () if is_whole else await find_prerequisites(git, journal.state.run.base)
    branch_ref = {f"refs/heads/{journal.state.run.branch}": head} if head else {}
    await _write_bundle(git, journal, refs | branch_ref, needed, scratch / OBJECTS_FILE)
    files, missing = await to_thread.run_sync(_files, run, journal.references, scratch)
    members = await to_thread.run_sync(lambda: {name: _describe_member(path) for name, path in files.items()})
    state = journal.state
    manifest = Manifest(
        version=__version__,
        run=state.run.run,
        events=state.seq,
        is_ended=state.ended is not None,
        object_format="sha256" if await read_object_format(git) == "sha256" else "sha1",
        base=state.run.base,
        branch=state.run.branch,
        head=head,
        refs=refs,
        prerequisites=tuple(map(CommitId, needed)),
        members=members,
        missing=missing,
    )
    return ArchiveExport(manifest, await to_thread.run_sync(write_archive, target, manifest, files))


def _read(run: RunDirectory, copy: Path) -> JournalHistory:
    copy_journal(run.journal, copy)
    history = JournalHistory.from_journal(copy)
    if history.state.started is None:
        raise UsageProblem(f"run {run.run} stopped before its first event: there is nothing to export")
    return history


async def _branch_tip(git: Git, run: RunDirectory) -> str | None:
    """Return where the PR branch stands; its name is in the first event, which is never written anew."""
    first = await to_thread.run_sync(lambda: next(iter(read_all_events(run.journal)), None))
    if first and isinstance(first.event, RunStarted):
        return await read_ref(git, f"refs/heads/{first.event.branch}")
    return None


def _collect_refs(before: Mapping[str, str], state: RunState) -> dict[str, CommitId]:
    """Return the run's own refs as of the journal's moment."""
    later = {taken.ref: taken.commit for task in state.tasks.values() for taken in task.candidates}
    refs = {name: CommitId(oid) for name, oid in before.items()} | later
    return {name: oid for name, oid in sorted(refs.items()) if name != RunRefs(state.run.run).journal}


async def _find_head(git: Git, state: RunState, before: str | None) -> CommitId | None:
    """Return the PR branch as the journal knows it: what it stood at before, unless something landed since."""
    if any(before == line.tip for line in state.goal.left_lines):  # a restart has left it since it was read
        return state.head
    if before and (state.head is None or await is_ancestor(git, state.head, before)):
        return CommitId(before)
    return state.head


async def _write_bundle(
    git: Git, journal: JournalHistory, refs: Mapping[str, str], needed: Sequence[str], target: Path
) -> None:
    """Write a git bundle of the refs, whose pack also holds what only the journal names, such as each turn's tree."""
    known = await find_existing_objects(git, {*refs.values(), *journal.references.other_ids, journal.state.run.base})
    lost = sorted(name for name, oid in refs.items() if oid not in known)
    if lost:
        raise EnvironmentProblem(
            f"git has lost what {lost[0]} pointed at ({refs[lost[0]][:12]}): run `git fsck` in {git.git_dir}, and "
            "fetch the run's refs from wherever they were pushed"
        )
    try:
        pack = await write_pack(git, sorted(known), needed, target.with_name("pack"))
    except GitError as error:
        raise EnvironmentProblem(
            f"the run's objects cannot be packed: {error}; in a shallow or partial clone fetch them first "
            "(git fetch --unshallow)"
        ) from error
    head = BundleHeader(refs, tuple(needed), await read_object_format(git))
    await to_thread.run_sync(_join, head.to_bytes(), pack, target)


def _join(head: bytes, pack: Path, target: Path) -> None:
    with target.open("xb") as file, pack.open("rb") as content:
        file.write(head)
        while chunk := content.read(_CHUNK):
            file.write(chunk)
    pack.unlink()
    pack.with_suffix(".idx").unlink()


def _files(run: RunDirectory, named: JournalReferences, scratch: Path) -> tuple[dict[str, Path], tuple[str, ...]]:
    """Return where every file of the archive lies, and the blobs that are named and not there, or damaged."""
    blobs, found, missing = BlobStore(run.blobs), {}, []
    for sha in sorted(named.blobs):
        if sha in named.required_blobs or blobs.get_blob_path(sha).is_file():
            with suppress(JournalProblem):
                blobs.read_blob(sha)
                found[get_blob_name(sha)] = blobs.get_blob_path(sha)
                continue
            missing.append(sha)
    return {JOURNAL_FILE: scratch / JOURNAL_FILE, OBJECTS_FILE: scratch / OBJECTS_FILE, **found}, tuple(missing)


def _describe_member(path: Path) -> ArchiveMember:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return ArchiveMember(size=path.stat().st_size, sha256=digest)
