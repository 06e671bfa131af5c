"""The change of a candidate, read from git for a screen. All reading here blocks: it is for threads."""

from dataclasses import dataclass
from pathlib import Path

import anyio

from orchestrator.domain.event import work
from orchestrator.domain.ids import SessionId
from orchestrator.domain.run.state import RunState
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.journal.storage.event_reader import EventReader
from orchestrator.tui.rows.subject_details import ResolvedSubject
from worktrees.diffs.file_diffs import Diff, diff_trees
from worktrees.object_store.tree_overlay import overlay_tree
from worktrees.repositories.repository import GitRepository

_LOOKED_AT = 100


@dataclass(frozen=True)
class DiffEndpoints:
    """Two sides to compare: commits or trees, with a word for the old one.

    With `blob`, what is now is the tree `old` with one file replaced (path, mode, id). Without `new`, it is what the
    workspace of `session` was when it was kept last.
    """

    base_label: str
    repository: Path
    old: str
    new: str = ""
    blob: tuple[str, str, str] | None = None
    session: SessionId | None = None

    def read_diff(self, directory: RunDirectory, paths: tuple[str, ...] = (), *, has_hunks: bool = True) -> Diff:
        """Read the change, limited to `paths` if there are any.

        Raises:
            GitError: git does not have one of them any more.
            JournalProblem: the journal cannot be read.
        """
        git = GitRepository.open(self.repository).git

        async def compute_diff() -> Diff:
            new = self.new or _find_last_tree(directory, self.session) or self.old
            if self.blob is not None:
                path, mode, oid = self.blob
                new = await overlay_tree(git, self.old, {path: (mode, oid)})
            return await diff_trees(git, self.old, new, paths, has_hunks=has_hunks)

        return anyio.run(compute_diff)


def _find_last_tree(directory: RunDirectory, session: SessionId | None) -> str:
    """Return the last kept tree of a conversation's workspace; empty if its last events have none."""
    if session is None:
        return ""
    with EventReader.open_reader(directory.journal) as reader:
        events = reader.read_session_part(session, last=_LOOKED_AT)
    for recorded in reversed(list(events)):
        if isinstance(recorded.event, work.SnapshotTaken | work.TurnEnded) and recorded.event.tree:
            return recorded.event.tree
    return ""


def list_diff_endpoints(state: RunState, whole: ResolvedSubject) -> list[DiffEndpoints]:
    """List everything that a subject can be compared with, the usual first; nothing where there is no change."""
    repository = Path(state.run.repository)
    if whole.path is not None and (file := state.migration.files.get(whole.path)) is not None:
        if blob := file.blob or file.tried:
            return [DiffEndpoints("base", repository, state.run.base_tree, blob=(file.path, file.mode, blob))]
        return []
    task = whole.find_task(state)
    if task is None or not task.attempts:
        if state.head:
            return [DiffEndpoints("the run's base", repository, state.run.base, state.head)]
        return []
    attempt = next((one for one in task.attempts if one.number == whole.attempt), task.attempts[-1])
    new = ""
    bases = {"task base": attempt.base, "PR branch": state.head}
    for candidate in task.candidates:
        if candidate.number == attempt.number:
            new = candidate.commit
        elif candidate.number < attempt.number:
            bases["previous attempt"] = candidate.commit
    return [DiffEndpoints(label, repository, old, new, session=attempt.session) for label, old in bases.items() if old]
