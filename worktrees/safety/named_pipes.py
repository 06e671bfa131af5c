"""Named pipes where git reads settings from a worktree: it would wait in them for ever, as nobody writes to them."""

import os
import stat
from contextlib import suppress
from pathlib import Path

from anyio import sleep, to_thread

from worktrees.safety.descriptors import hold_descriptor, list_directory
from worktrees.safety.removal import DIRECTORY_FLAGS, open_unfollowed

_READ_BY_GIT = frozenset({".gitignore", ".gitattributes", ".gitmodules", ".mailmap"})
_PATH_CHARS = 4096
_PAUSES_S = (0.7, 2.0, 8.0, 30.0, 120.0)


async def watch_for_pipes(root: Path) -> None:
    """Remove such pipes while git takes its time with `root`, and let git go on; to be cancelled at its end."""
    for pause_s in _PAUSES_S:
        await sleep(pause_s)
        await to_thread.run_sync(remove_pipes, root)


def remove_pipes(root: Path) -> None:
    """Remove each pipe of a name that git reads, and release whoever waits in it, as if it had been empty."""
    todo = [""]
    with open_unfollowed(root) as top:
        while todo:
            with suppress(OSError):  # closed to us, as it is to git, or gone
                todo += _remove_pipes_in(top, todo.pop())


def _remove_pipes_in(top: int, place: str) -> list[str]:
    """Remove the pipes of one directory; return its directories that are not too far down for git to look into."""
    with hold_descriptor(_open_below(top, place)) as directory:
        listed = list_directory(directory)
        for name in _READ_BY_GIT.intersection(name for name, _ in listed):
            with suppress(OSError):
                _remove_pipe(name, directory)
    inner = (f"{place}/{name}" for name, is_directory in listed if is_directory)
    return [path for path in inner if len(path) <= _PATH_CHARS]


def _open_below(top: int, place: str) -> int:
    """Open a directory step by step, so that no link is followed on the way."""
    here = os.dup(top)
    for part in place.split("/")[1:]:
        with hold_descriptor(here):
            here = os.open(part, DIRECTORY_FLAGS, dir_fd=here)
    return here


def _remove_pipe(name: str, directory: int) -> None:
    with hold_descriptor(os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)) as pipe:
        if not stat.S_ISFIFO(os.fstat(pipe).st_mode):
            return
        os.unlink(name, dir_fd=directory)  # first: from now on nobody can begin to wait in it
        held = f"/proc/self/fd/{pipe}"
        os.chmod(held, 0o600)  # noqa: PTH101 - a descriptor, not a name that could be swapped
        os.close(os.open(held, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC))
