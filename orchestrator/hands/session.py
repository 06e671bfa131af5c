"""A directory for what one process of ours needs while it lives; the next one clears up after one that was killed."""

import fcntl
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from orchestrator.hands.trees import new_folder, remove_tree

_KEEP_LOGS_S = 14 * 24 * 3600.0


def old_logs(state: Path, older_than_s: float) -> tuple[Path, ...]:
    """The folders of whole outputs that sessions below `state` have left that ended and wrote last so long ago. Blocks.

    What matters of them is in journals.
    """
    logs, sessions = state / "logs", state / "sessions"
    if not logs.is_dir():
        return ()
    folders = [folder for folder in logs.iterdir() if folder.is_dir() and not (sessions / folder.name).exists()]
    return tuple(sorted(folder for folder in folders if time.time() - folder.stat().st_mtime > older_than_s))


def drop_old_logs(logs: Path) -> None:
    """Remove the logs of sessions that ended long ago; what matters of them is in journals. Blocks."""
    if logs.is_dir():
        for folder in logs.iterdir():
            if folder.is_dir() and time.time() - folder.stat().st_mtime > _KEEP_LOGS_S:
                remove_tree(folder)


@contextmanager
def open_session(state: Path) -> Iterator[Path]:
    """A new directory below `state`, removed at the end; first removes what dead processes have left there. Blocks."""
    home = state / "sessions"
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _locked(home / "lock"):
        _sweep(home)
        folder = new_folder(home / secrets.token_hex(8))
        held = _try_lock(folder / "lock")
    try:
        yield folder
    finally:
        remove_tree(folder)
        if held is not None:
            os.close(held)


def _sweep(home: Path) -> None:
    for folder in home.iterdir():
        if folder.is_dir():
            held = _try_lock(folder / "lock")
            if held is not None:
                remove_tree(folder)
                os.close(held)


@contextmanager
def _locked(file: Path) -> Iterator[None]:
    fd = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _try_lock(file: Path) -> int | None:
    """The descriptor that holds the lock, or None if a living process holds it."""
    fd = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        return None
    return fd
