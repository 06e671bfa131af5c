"""A checkout of what somebody works at, for a person to look into with another program, and removed afterwards."""

import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from types import FrameType

from anyio import CancelScope, to_thread
from textual.app import App

from orchestrator.domain.ids import TaskId
from orchestrator.domain.refs import RunRefs
from orchestrator.domain.run.state import RunState
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.tui.commands import builders
from orchestrator.tui.view_model import Subject
from worktrees.checkouts.pool import WorktreePool
from worktrees.errors import GitError
from worktrees.git import Git
from worktrees.object_store.trees import find_commit
from worktrees.ref_store.refs import list_refs
from worktrees.repositories.repository import GitRepository

CHECKOUTS_DIRECTORY = "looks"
"""The directory of such checkouts in the state directory; the workspaces of agents lie elsewhere."""


@asynccontextmanager
async def open_checkout(state: RunState, directory: RunDirectory, subject: Subject | None) -> AsyncIterator[Path]:
    """Yield the top of a checkout of what a subject stands for, and remove it afterwards.

    That is the latest candidate of its task, else the content of its workspace after the last whole turn, else the tip
    of the PR branch. Nothing that is done in it reaches the run.

    Raises:
        GitError: it could not be made.
    """
    repository = await to_thread.run_sync(GitRepository.open, Path(state.run.repository))
    pool = WorktreePool(repository, directory.path.parents[1] / CHECKOUTS_DIRECTORY)
    await pool.remove_idle_worktrees()  # of dashboards that were killed
    worktree = await pool.lease_worktree(await resolve_commit(repository.git, state, subject))
    try:
        yield worktree.root
    finally:
        with CancelScope(shield=True):
            await pool.release_worktree(worktree)
            await pool.remove_idle_worktrees()


async def resolve_commit(git: Git, state: RunState, subject: Subject | None) -> str:
    """Return the commit that a subject stands for.

    Raises:
        GitError: git has no such commit any more.
    """
    kept = None
    name = TaskId(builders.find_task_of_subject(subject, state)) if subject else None
    if name is not None and (task := state.tasks.get(name)) is not None:
        if task.candidate is not None:
            return task.candidate.commit
        kept = await _find_kept_commit(git, state, name)
    commit = kept or state.head or state.run.base
    if await find_commit(git, commit) is None:
        raise GitError(f"the commit {commit[:12]} is no longer in the repository")
    return commit


async def _find_kept_commit(git: Git, state: RunState, task: TaskId) -> str | None:
    """Return the last kept workspace commit of the task's latest attempt."""
    refs = await list_refs(git, RunRefs(state.run.run).build_anchor_prefix(task))
    return refs[max(refs, key=_parse_number)] if refs else None


def _parse_number(ref: str) -> int:
    number = ref.rpartition("/")[2]
    return int(number) if number.isdigit() else -1


_TYPED = (signal.SIGINT, signal.SIGQUIT)
"""The signals that a terminal sends to all programs in it when somebody types ctrl+c or ctrl+\\ into an editor."""


@contextmanager
def suspend_dashboard(app: App[None]) -> Iterator[None]:
    """Give the terminal to another program while the block lasts; only in the main thread.

    Raises:
        SuspendNotSupported: the app has no terminal to lend.
    """
    with app.batch_update(), app.suspend():
        before = {number: signal.signal(number, _pass_over) for number in _TYPED}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _pass_over(_number: int, _frame: FrameType | None) -> None:
    """Do nothing; unlike an ignored signal, a started program does not inherit that."""
