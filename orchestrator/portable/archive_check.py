"""The check of an archive on its own: files, journal, and git objects in quarantine."""

import re
from dataclasses import dataclass
from pathlib import Path

from anyio import to_thread

from orchestrator.domain.ids import get_run_suffix
from orchestrator.domain.refs import RunRefs
from orchestrator.errors import JournalProblem, UsageProblem
from orchestrator.journal.storage.file_copy import check_journal_file
from orchestrator.portable.archive import unpack_archive
from orchestrator.portable.journal_references import JournalHistory
from orchestrator.portable.manifest import JOURNAL_FILE, OBJECTS_FILE, Manifest
from worktrees.errors import GitError
from worktrees.git import Git
from worktrees.object_store.bundle_header import read_bundle_header
from worktrees.object_store.merge import is_ancestor
from worktrees.object_store.packs import QuarantinedPack, find_existing_objects, read_object_format
from worktrees.repositories.repository import GitRepository


@dataclass(frozen=True)
class CheckedArchive:
    """An archive whose every part is sound and fits this repository. Nothing of it is in place yet."""

    manifest: Manifest
    journal: Path
    blobs: dict[str, Path]
    history: JournalHistory
    quarantine: QuarantinedPack

    @property
    def branch_ref(self) -> str:
        """The PR branch as a full ref name."""
        return f"refs/heads/{self.manifest.branch}"


async def check_archive(repository: GitRepository, archive: Path, place: Path) -> CheckedArchive:
    """Unpack an archive into an empty directory and examine all of it.

    Raises:
        UsageProblem: it is damaged, is of another repository, or says things that do not belong together.
        EnvironmentProblem: there is no room for it.
    """
    content = place / "content"
    content.mkdir()
    manifest = await to_thread.run_sync(unpack_archive, archive, content)
    history = await to_thread.run_sync(_history, content / JOURNAL_FILE, place, archive)
    _require_consistent(manifest, history, archive)
    await _require_ref_names(repository.git, manifest, archive)
    await _require_repository(repository, manifest)
    quarantine = await _open_quarantine(repository, manifest, history, place, archive)
    blobs = {sha: content / name for sha, name in manifest.blobs.items()}
    return CheckedArchive(manifest, content / JOURNAL_FILE, blobs, history, quarantine)


def _history(journal: Path, scratch: Path, archive: Path) -> JournalHistory:
    try:
        check_journal_file(journal, scratch)
        return JournalHistory.from_journal(journal)
    except JournalProblem as problem:
        raise UsageProblem(f"{archive} cannot be imported: {problem}") from problem


def _require_consistent(manifest: Manifest, history: JournalHistory, archive: Path) -> None:
    """Make sure that the manifest says what the journal says, and the journal has no gaps."""
    started, state = history.state.started, history.state
    is_gapless = history.events == state.seq == manifest.events
    told = (manifest.run, manifest.base, manifest.branch, manifest.is_ended)
    if started is None or not is_gapless or told != (started.run, started.base, started.branch, bool(state.ended)):
        raise UsageProblem(f"{archive} cannot be imported: its manifest and its journal are not of the same run")
    if any(one.approval.settings.keys() - {"budget"} for one in state.pending_approvals):
        raise UsageProblem(f"{archive} cannot be imported: a question in it would change more than the budget by a yes")
    if not _is_branch_of(manifest):
        raise UsageProblem(
            f"{archive} cannot be imported: {manifest.branch!r} is no name that orchestrate gives a PR branch, so it "
            "might be a branch of yours"
        )
    if history.references.required_blobs - set(manifest.missing) - manifest.blobs.keys():
        raise UsageProblem(f"{archive} cannot be imported: blobs that its journal names are not in it")


def _is_branch_of(manifest: Manifest) -> bool:
    """Return every PR branch ends with the run's id, or with the id's last part after a hyphen."""
    suffix = re.escape(get_run_suffix(manifest.run))
    return re.fullmatch(f".+(/{re.escape(manifest.run)}|-{suffix})", manifest.branch) is not None


async def _require_ref_names(git: Git, manifest: Manifest, archive: Path) -> None:
    """The run's own refs are below its own prefix; of branches only the PR branch may come, and not among them."""
    own = RunRefs(manifest.run)
    names = {f"refs/heads/{manifest.branch}": True}
    for ref, is_ours in (names | {ref: own.owns_ref(ref) and ref != own.journal for ref in manifest.refs}).items():
        if not is_ours or (await git.run("check-ref-format", ref, ok=(0, 1))).exit_code:
            raise UsageProblem(f"{archive} cannot be imported: it names the ref {ref!r}, which is none of this run")


async def _require_repository(repository: GitRepository, manifest: Manifest) -> None:
    found = await read_object_format(repository.git)
    if found != manifest.object_format:
        raise UsageProblem(
            f"{repository.root} is not the run's repository: its object format is {found}, "
            f"that of the run's is {manifest.object_format}"
        )
    known = await find_existing_objects(repository.git, manifest.prerequisites)
    lacking = [oid for oid in manifest.prerequisites if oid not in known]
    if lacking:
        raise UsageProblem(
            f"{repository.root} does not have commit {lacking[0]}, which the run rests on. If it is a clone of the "
            "run's repository, fetch that commit (git fetch, in a shallow clone git fetch --unshallow), or export the "
            "run with --whole"
        )


async def _open_quarantine(
    repository: GitRepository, manifest: Manifest, history: JournalHistory, place: Path, archive: Path
) -> QuarantinedPack:
    """Return the objects, whole together with the repository's, and the heads that stand on the base."""
    pack, apart = place / "arrived.pack", place / "git"
    apart.mkdir()
    wanted = [*manifest.refs.values(), manifest.base, *([manifest.head] if manifest.head else [])]
    try:
        await to_thread.run_sync(_split, place / "content" / OBJECTS_FILE, pack, manifest)
        quarantine = await QuarantinedPack.examine_pack(repository, pack, apart)
        named = await find_existing_objects(quarantine.git, history.references.other_ids)
        await quarantine.check_complete([*wanted, *named], manifest.prerequisites)
        is_based = not manifest.head or await is_ancestor(quarantine.git, manifest.base, manifest.head)
    except GitError as error:
        raise UsageProblem(f"{archive} cannot be imported: its git objects are not sound: {error}") from error
    if not is_based:
        raise UsageProblem(f"{archive} cannot be imported: its PR branch does not stand on the run's base")
    if not manifest.prerequisites and not await _is_related(quarantine, manifest):
        raise UsageProblem(
            f"{repository.root} has no history in common with the run's base {manifest.base[:12]}: name the repository "
            "that the run is of with --repo DIR"
        )
    return quarantine


async def _is_related(quarantine: QuarantinedPack, manifest: Manifest) -> bool:
    """Return True if the repository has history of the run: an archive that presupposes nothing fits anywhere else."""
    head = quarantine.repository.read_head_commit()
    return (await quarantine.git.run("merge-base", manifest.base, head, ok=(0, 1))).exit_code == 0


def _split(bundle: Path, pack: Path, manifest: Manifest) -> None:
    """Take the pack out of the bundle, whose head must say what the manifest says."""
    heads = {f"refs/heads/{manifest.branch}": manifest.head} if manifest.head else {}
    with bundle.open("rb") as file, pack.open("xb") as content:
        head = read_bundle_header(file)
        if head.refs != {**manifest.refs, **heads} or head.prerequisites != manifest.prerequisites:
            raise GitError("the bundle does not carry the refs that the manifest names")
        while chunk := file.read(1024 * 1024):
            content.write(chunk)
