"""Give a run a name that no other run of its repository has."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from anyio import to_thread

from orchestrator.errors import EnvironmentProblem
from orchestrator.journal.locations.run_directory import StateDirectory
from orchestrator.journal.locations.run_names import require_free_run_name
from worktrees.errors import LockTimeout
from worktrees.locks.file_lock import wait_for_file_lock
from worktrees.safety.private_directory import create_private_directory

_LOCK_FILE = "names.lock"


@asynccontextmanager
async def hold_run_name(state: StateDirectory, name: str) -> AsyncIterator[None]:
    """Let nobody else begin a run of the same name in this repository during the block; nothing for no name.

    Raises:
        UsageProblem: a run has the name.
        EnvironmentProblem: another process keeps the names locked.
    """
    if not name:
        yield
        return
    descriptor = await to_thread.run_sync(_lock_names, state)
    try:
        await to_thread.run_sync(require_free_run_name, state, name)
        yield
    finally:
        os.close(descriptor)


def _lock_names(state: StateDirectory) -> int:
    create_private_directory(state.path)
    try:
        return wait_for_file_lock(state.path / _LOCK_FILE)
    except LockTimeout as error:
        raise EnvironmentProblem(f"no run can be named now: {error}") from error
