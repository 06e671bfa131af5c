"""Runs of a repository that was moved: their place is named after the path that it had."""

import shlex
from contextlib import suppress
from pathlib import Path

from orchestrator.domain.event.run import RunStarted
from orchestrator.domain.refs import RunRefs
from orchestrator.errors import JournalProblem
from orchestrator.journal.storage.event_store import read_all_events
from worktrees.errors import GitError
from worktrees.repositories.discovery import find_checkout


def describe_moved_runs(state: Path, repository: Path) -> str:
    """Return how the runs of this repository are found again if it was elsewhere when they were begun; else "".

    It has the refs of such a run, and the place where it was has not. Looks at the state directories beside `state`.
    """
    for directory in sorted(state.parent.glob("*/")):
        begun = _last_begun(directory) if directory != state else None
        if begun and _holds_refs(repository, begun.run) and not _holds_refs(Path(begun.repository), begun.run):
            old, new = (shlex.quote(str(path)) for path in (directory / "runs", state))
            move = f"mkdir -m 700 -p {new} && mv {old} {new}/"
            if (state / "runs").exists():
                move = f"mv {old}/* {new}/runs/"
            return (
                f"this repository was at {begun.repository} before, and its runs lie where they were: to go on, {move}"
            )
    return ""


def _last_begun(directory: Path) -> RunStarted | None:
    for journal in sorted(directory.glob("runs/*/journal.db"), reverse=True):
        with suppress(JournalProblem, OSError):
            first = next(iter(read_all_events(journal)), None)
            if first and isinstance(first.event, RunStarted):
                return first.event
    return None


def _holds_refs(repository: Path, run: str) -> bool:
    """Return True if a checkout's repository has refs of a run, which a clone does not get."""
    prefix = RunRefs(run).prefix
    try:
        git_dir = find_checkout(repository).common_dir
        packed = git_dir / "packed-refs"
        return (git_dir / prefix).is_dir() or (packed.is_file() and f" {prefix}/".encode() in packed.read_bytes())
    except (GitError, OSError):
        return False
