"""An archive as a commit, so that a push carries a whole run: its tree holds the manifest, and the archive in parts."""

from pathlib import Path

from anyio import to_thread
from pydantic import ValidationError

from orchestrator.domain.ids import RunId, find_named_runs
from orchestrator.domain.refs import FETCH_REFSPEC, NAMESPACE, RunRefs, parse_journal_ref
from orchestrator.errors import UsageProblem
from orchestrator.portable.manifest import MANIFEST_FILE, RUN_ID_PATTERN, Manifest
from worktrees.errors import GitError
from worktrees.git import Git
from worktrees.object_store.merge import EPOCH_DATE, commit_tree
from worktrees.object_store.packs import find_existing_objects
from worktrees.object_store.tree_overlay import overlay_tree
from worktrees.object_store.trees import list_tree, read_blob, read_tree_id, write_blob, write_empty_tree
from worktrees.ref_store.refs import list_refs, set_ref

_PART_BYTES = 32 * 1024 * 1024
"""Forges refuse files of more than 100 MB."""


async def write_archive_ref(git: Git, manifest: Manifest, archive: Path) -> str:
    """Write a commit that holds the archive, and point the run's ref `journal` at it; return the ref.

    The commit has no parents: what an earlier export left is replaced, not kept.
    """
    run = manifest.run
    files = {MANIFEST_FILE: ("100644", await write_blob(git, manifest.model_dump_json(indent=1).encode()))}
    with archive.open("rb") as file:
        while part := await to_thread.run_sync(file.read, _PART_BYTES):
            files[f"archive/{len(files):06}"] = ("100644", await write_blob(git, part))
    tree = await overlay_tree(git, await write_empty_tree(git), files)
    message = f"Run {run}, {manifest.events} events\n\nTaken in by `orchestrate run import --ref {run}`.\n"
    ref = RunRefs(run).journal
    await set_ref(git, ref, await commit_tree(git, tree, [], message, EPOCH_DATE))
    return ref


async def read_archive_ref(git: Git, wanted: str, target: Path) -> None:
    """Write the archive that a ref holds to a file.

    Args:
        git: the repository.
        wanted: a run's id, or what names one (`find_named_runs`).
        target: the file, which does not exist.

    Raises:
        UsageProblem: no ref holds such a run, or more than one does, or what it holds is no archive.
    """
    ref = RunRefs(await _run_of(git, wanted)).journal
    parts = [entry for entry in await list_tree(git, await read_tree_id(git, ref), ["archive"]) if entry.kind == "blob"]
    if not parts or any((entry.size or 0) > _PART_BYTES for entry in parts):
        raise UsageProblem(f"{ref} holds no archive of a run: export the run again with `orchestrate run export --ref`")
    with target.open("xb") as file:
        for entry in parts:
            await to_thread.run_sync(file.write, await read_blob(git, entry.oid))


async def find_missing_commits(git: Git, run: str) -> tuple[str, ...]:
    """Return the commits that the archive in a run's ref rests on and the repository does not have.

    Raises:
        UsageProblem: the ref holds no archive.
    """
    ref = RunRefs(run).journal
    try:
        manifest = Manifest.model_validate_json(await read_blob(git, f"{ref}:{MANIFEST_FILE}"))
    except (GitError, ValidationError) as error:
        raise UsageProblem(f"{ref} holds no archive that this version of orchestrate understands") from error
    known = await find_existing_objects(git, manifest.prerequisites)
    return tuple(oid for oid in manifest.prerequisites if oid not in known)


async def _run_of(git: Git, wanted: str) -> str:
    runs = []
    for ref in await list_refs(git, NAMESPACE):
        run = parse_journal_ref(ref)
        if run and RUN_ID_PATTERN.fullmatch(run):
            runs.append(RunId(run))
    found = find_named_runs(wanted, runs)
    if len(found) != 1:
        known = ", ".join(found or runs[-8:]) or "none"
        raise UsageProblem(
            f"{wanted!r} {'fits more than one run' if found else 'is no run that a ref holds'} (there are: {known}): "
            f"fetch it first, git fetch REMOTE '{FETCH_REFSPEC}'"
        )
    return found[0]
