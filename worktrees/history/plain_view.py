"""Git that reads a repository's history without any of its settings, some of which name files and programs."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from anyio import to_thread

from worktrees.git import Git
from worktrees.ref_store.remote_view import LIST_SETTINGS, create_remote_view, parse_settings


@asynccontextmanager
async def open_plain_view(git: Git) -> AsyncIterator[Git]:
    """Open git on the repository's objects and refs; `blame.ignoreRevsFile`, `log.*` and the like do not count.

    Raises:
        GitError: its settings cannot be listed.
    """
    listed = parse_settings((await git.run(*LIST_SETTINGS)).stdout)
    with TemporaryDirectory(prefix="orchestrate-history-") as name:
        await to_thread.run_sync(create_remote_view, git.git_dir, Path(name), listed)
        yield Git(Path(name), overrides=git.overrides)
