"""The field guide of a repository, as a run of it begins with it and opens it."""

from collections.abc import Sequence
from pathlib import Path

from anyio import to_thread

from orchestrator.config.model import Config
from orchestrator.domain.event import Event
from orchestrator.domain.event.memory import GuideRead
from orchestrator.domain.ids import CommitId
from orchestrator.domain.memory.entry import EntryRetirement, EvidenceKind, GuideEntry, RetirementCause
from orchestrator.domain.run.state import RunState
from orchestrator.errors import EnvironmentProblem
from orchestrator.journal.journal import SystemClock
from orchestrator.journal.locations.run_lock import RunLock
from orchestrator.memory.guide_document import NO_GUIDE, GuideDocument, parse_guide
from orchestrator.memory.guide_file import REPOSITORY_FILE, GuideFile
from orchestrator.memory.lifecycle import find_retirement_cause
from orchestrator.project.options import ProjectContext
from worktrees.git import Git
from worktrees.object_store.commit_names import find_reachable_commit
from worktrees.object_store.packs import find_existing_objects
from worktrees.object_store.trees import list_paths, list_tree, read_blobs

_FILE_MODES = frozenset({"100644", "100755"})


def open_field_guide(state_directory: Path, state: RunState, config: Config, lock: RunLock) -> GuideFile | None:
    """Return the field guide that a run writes to for as long as it has its lock.

    None for a migration, where it is switched off, and where commands without a sandbox could write it themselves.
    """
    if config.memory.place == "off" or state.run.mode != "goal" or state.is_unsafe or config.hands.without_sandbox:
        return None
    return GuideFile(state_directory, config.memory.expire_days, config.memory.max_entries, lock.require_held)


async def read_guide_events(project: ProjectContext, base: CommitId) -> Sequence[Event]:
    """Return the event that tells a new run of a goal the field guide; none where there is nothing to tell.

    Raises:
        EnvironmentProblem: the guide cannot be read.
    """
    config = project.config
    if config.memory.place == "off" or config.hands.without_sandbox:
        return ()
    file, git = GuideFile(project.state.path), project.repository.git
    if config.memory.place == "repository":
        guide = await _read_committed_guide(git, base, file)
    else:
        guide = await to_thread.run_sync(file.read_guide)
    if not guide.entries:
        return ()
    return (await build_guide_event(git, base, guide),)


async def _read_committed_guide(git: Git, base: CommitId, file: GuideFile) -> GuideDocument:
    """Return what people committed, as it stands beside the state by now: without what has ended since."""
    committed = await read_committed_guide(git, base)
    merged = await to_thread.run_sync(file.merge_guide, committed)
    names = {entry.id for entry in committed.entries}
    return GuideDocument(entries=tuple(entry for entry in merged.entries if entry.id in names))


async def read_committed_guide(git: Git, commit: CommitId) -> GuideDocument:
    """Return the field guide in a commit; an empty one without a file.

    Raises:
        EnvironmentProblem: the file is no field guide.
    """
    for entry in await list_tree(git, commit, (REPOSITORY_FILE,)):
        if entry.path == REPOSITORY_FILE and entry.mode in _FILE_MODES:
            content = (await read_blobs(git, (entry.oid,)))[entry.oid]
            try:
                return parse_guide(content)
            except ValueError as error:
                where = f"{REPOSITORY_FILE} in commit {commit[:12]}"
                raise EnvironmentProblem(
                    f"{where} is no field guide ({error}): mend and commit it, or set place under [memory] to state"
                ) from error
    return NO_GUIDE


async def build_guide_event(git: Git, base: CommitId, guide: GuideDocument) -> GuideRead:
    """Return what a run that begins at `base` is told, and which entries nothing holds up any more.

    An entry about files that come with a commit that `base` does not hold yet is neither told nor ended.
    """
    now, paths = SystemClock().now(), await list_paths(git, base)
    named = {entry.evidence.id for entry in guide.entries if entry.evidence.kind == EvidenceKind.COMMIT}
    lost = named - (await find_existing_objects(git, named)).keys()
    kept, retired = [], []
    for entry in guide.entries:
        cause = find_retirement_cause(entry, now, paths, lost)
        if cause is None:
            kept.append(entry)
        elif cause != RetirementCause.SCOPE_GONE or await _holds_evidence(git, base, entry):
            retired.append(EntryRetirement(entry=entry.id, cause=cause, at=now))
    return GuideRead(entries=tuple(kept), retired=tuple(retired))


async def _holds_evidence(git: Git, base: CommitId, entry: GuideEntry) -> bool:
    """Return False if the evidence of an entry is a commit that has still to come into the base."""
    if entry.evidence.kind != EvidenceKind.COMMIT:
        return True
    return await find_reachable_commit(git, entry.evidence.id, base) is not None
