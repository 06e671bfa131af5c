"""A directory for what one process of ours needs while it lives; the next one clears up after one that was killed."""

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from orchestrator.hands.files.directory_trees import claim_tree, remove_tree
from orchestrator.hands.files.liveness import create_process_folder
from worktrees.safety.private_directory import create_private_root

_KEEP_LOGS_S = 14 * 24 * 3600.0


def find_old_logs(state: Path, older_than_s: float) -> tuple[Path, ...]:
    """Return the log folders of ended sessions below `state` not written for `older_than_s` seconds. Blocks.

    Journals hold what matters of them.
    """
    logs, sessions = state / "logs", state / "sessions"
    if not logs.is_dir():
        return ()
    folders = [folder for folder in logs.iterdir() if folder.is_dir() and not (sessions / folder.name).exists()]
    return tuple(sorted(folder for folder in folders if time.time() - folder.stat().st_mtime > older_than_s))


def remove_old_logs(logs: Path) -> None:
    """Remove the logs of sessions that ended long ago; what matters of them is in journals. Blocks."""
    if not logs.is_dir():
        return
    for folder in logs.iterdir():
        with suppress(FileNotFoundError):  # another process is at it as well
            if folder.is_dir() and time.time() - folder.stat().st_mtime > _KEEP_LOGS_S:
                remove_tree(claim_tree(folder))


@contextmanager
def open_session(state: Path) -> Iterator[Path]:
    """Create a directory below `state`, removed at the end; first removes what dead processes left there. Blocks."""
    create_private_root(state)
    with create_process_folder(state / "sessions", secrets.token_hex(8)) as folder:
        yield folder
