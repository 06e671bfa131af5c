"""`gc`: what may go. Work that did not land stays unless its run is named."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from anyio import to_thread

from orchestrator.app.options import Options, look_around
from orchestrator.hands.local import worktree_pool
from orchestrator.journal.runs import RunDirectory
from worktrees.refs import delete_refs, list_refs


@dataclass(frozen=True)
class Collected:
    """What was removed, or would be."""

    workspaces: tuple[str, ...]
    runs: tuple[str, ...]
    refs: tuple[str, ...]


async def collect(options: Options, runs: tuple[str, ...], is_dry: bool) -> Collected:
    """Remove idle workspaces, and everything of the named runs but what landed.

    Raises:
        RunLocked: a process works on a named run.
        UsageProblem: there is no such run.
    """
    around = await to_thread.run_sync(look_around, options)
    named = [around.state.find(run) for run in runs]
    refs = [ref for run in named for ref in await list_refs(around.repository.git, f"refs/orchestrate/{run.run}/")]
    pool = worktree_pool(around.repository, around.state.path)
    idle = await to_thread.run_sync(pool.idle)
    if not is_dry:
        idle = await pool.discard()
        for run in named:
            with run.lock():
                await to_thread.run_sync(_remove, run)
        await delete_refs(around.repository.git, refs)
    return Collected(idle, tuple(run.run for run in named), tuple(refs))


def _remove(run: RunDirectory) -> None:
    shutil.rmtree(run.path)


def size_bytes(path: Path) -> int:
    """Disk use of a directory."""
    return sum(file.lstat().st_size for file in path.rglob("*") if file.is_file())
