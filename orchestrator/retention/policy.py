"""Choose the runs `gc` may remove: past retention, ended, with nothing unlanded. Pure but for git."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from orchestrator.config.model import GcSettings
from orchestrator.domain.ids import RunId
from orchestrator.domain.migration.files import FileStatus
from orchestrator.domain.run.state import RunState
from orchestrator.domain.run.task import TaskStatus
from worktrees.git import Git
from worktrees.object_store.packs import find_existing_objects


@dataclass(frozen=True)
class UnlandedWork:
    """Something that would be lost with a run: a task's candidate, or what was made of a migration's file.

    `commit` is None where no commit of its own holds it.
    """

    name: str
    status: str
    commit: str | None


@dataclass(frozen=True)
class KeptRun:
    """A run that is past retention and stays: why, and the work that would be lost."""

    run: RunId
    why: str
    work: tuple[UnlandedWork, ...] = ()


def select_expired_runs(ends: Sequence[tuple[RunId, datetime | None]], now: datetime, limits: GcSettings) -> set[RunId]:
    """Return the runs that `[gc]` does not ask to keep.

    Args:
        ends: every run, oldest first, with when something was last recorded in it; None if that is unknown.
        now: aware.
        limits: a run goes when it is older than `keep_days`, or not among the `keep_runs` newest; 0 is no limit.
    """
    expired = set()
    if limits.keep_runs:
        expired |= {run for run, _ in ends[: -limits.keep_runs]}
    if limits.keep_days:
        oldest = now - timedelta(days=limits.keep_days)
        expired |= {run for run, written_at in ends if written_at is not None and written_at < oldest}
    return expired


def list_unlanded_work(state: RunState) -> tuple[UnlandedWork, ...]:
    """Return the recorded work that has not landed; a task that landed at last has left nothing."""
    tasks = []
    for task in state.tasks.values():
        if task.status != TaskStatus.MERGED and task.candidates and task.candidates[-1].paths:
            tasks.append(UnlandedWork(task.spec.id, task.status.value, task.candidates[-1].commit))
    unlanded_statuses = {FileStatus.TRANSFORMED, FileStatus.EJECTED, FileStatus.REJECTED}
    files = []
    for file in state.migration.files.values():
        if file.status in unlanded_statuses and (file.blob or file.tried) not in (None, file.base):
            files.append(UnlandedWork(file.path, file.status.value, None))
    return (*tasks, *files)


async def find_reason_to_keep(git: Git, state: RunState) -> KeptRun | None:
    """Return why a run that nobody works on has to be named to be removed; None if nothing would be lost.

    Work that a branch, a tag or a remote's branch holds would not be lost.
    """
    run = state.run.run
    work = await _select_unheld_work(git, list_unlanded_work(state))
    if state.ended is None:
        return KeptRun(run, "it has not ended", work)
    if work:
        return KeptRun(run, "work of it has not landed", work)
    head = (UnlandedWork(state.run.branch, "landed", state.head),) if state.head else ()
    landed = await _select_unheld_work(git, head)
    if landed:
        return KeptRun(run, f"what it landed is on no branch any more, {state.run.branch} being gone", landed)
    return None


async def _select_unheld_work(git: Git, work: Sequence[UnlandedWork]) -> tuple[UnlandedWork, ...]:
    commits = await find_existing_objects(git, [item.commit for item in work if item.commit])
    options = ("rev-list", "--no-walk=unsorted", "--stdin", "--not", "--branches", "--tags", "--remotes")
    unheld = set()
    if commits:
        unheld = set((await git.run_text(*options, stdin="\n".join([*commits, ""]).encode())).split())
    return tuple(item for item in work if item.commit is None or item.commit in unheld)
