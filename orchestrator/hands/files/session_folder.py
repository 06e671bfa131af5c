"""A directory for what one process of ours needs while it lives; the next one clears up after one that was killed.

A finished sandbox dies with us by itself. One whose bubblewrap had not yet asked the kernel for that would wait for
ever; so a small shell outside waits for our end and then looks for such ones.
"""

import os
import secrets
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from orchestrator.hands.files.directory_trees import claim_tree, create_private_folder, empty_tree, remove_tree
from worktrees.locks.file_lock import try_file_lock, wait_for_file_lock
from worktrees.safety.descriptors import hold_descriptor
from worktrees.safety.private_directory import create_private_directory, create_private_root

_KEEP_LOGS_S = 14 * 24 * 3600.0
_LOCK = "lock"
_KEPT = "kept"
_SCRIPT = """
read -r _
for pause_s in 0.02 0.08 0.3; do
    for found in $(grep -lsaF -e "$1/" /proc/[0-9]*/cmdline); do
        place=${found%/cmdline}
        read -r name < "$place/comm" && [ "$name" = bwrap ] && kill -9 "${place#/proc/}"
    done
    sleep $pause_s
done
"""


@contextmanager
def create_process_folder(home: Path, name: str) -> Iterator[Path]:
    """Create the directory `name` in `home`; it is removed at the end, unless `keep_folder` was called.

    First removes what dead processes have left in `home`. Afterwards nothing of ours is in an empty `home`. Blocks.

    Raises:
        OSError: it cannot be made, or not be removed.
    """
    with _lock_home(home):
        _remove_dead_folders(home)
        folder = create_private_folder(home / name)
        lock_fd = try_file_lock(folder / _LOCK)
    try:
        yield folder
    finally:
        try:
            if folder.is_dir() and not (folder / _KEPT).exists():
                _remove_folder(folder)
        finally:
            if lock_fd is not None:
                os.close(lock_fd)


def keep_folder(folder: Path) -> None:
    """Mark a directory so that only the user removes it. Blocks."""
    (folder / _KEPT).touch()


def _remove_folder(folder: Path) -> None:
    """Remove a directory: most of it under its own lock, which goes last, while nobody looks for dead ones."""
    empty_tree(folder, but=_LOCK)
    with _lock_home(folder.parent):
        remove_tree(folder)
        lock = folder.parent / _LOCK
        if list(folder.parent.iterdir()) == [lock]:
            lock.unlink()


@contextmanager
def _lock_home(home: Path) -> Iterator[None]:
    """Hold the lock of `home` while the block lasts: one process at a time makes or removes directories there."""
    lock_fd = None
    while lock_fd is None:
        create_private_directory(home)
        with suppress(FileNotFoundError):  # whoever was the last in it has just removed it
            lock_fd = wait_for_file_lock(home / _LOCK)
    with hold_descriptor(lock_fd):
        yield


def _remove_dead_folders(home: Path) -> None:
    for folder in home.iterdir():
        if folder.is_dir() and not (folder / _KEPT).exists():
            lock_fd = try_file_lock(folder / _LOCK)
            if lock_fd is not None:
                remove_tree(folder)
                os.close(lock_fd)


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
    for folder in logs.glob("*/"):
        with suppress(FileNotFoundError):  # another process is at it as well
            if time.time() - folder.stat().st_mtime > _KEEP_LOGS_S:
                os.utime(folder)  # it is no more of long ago for those who find it under its new name
                remove_tree(claim_tree(folder))


@contextmanager
def open_session(state: Path) -> Iterator[Path]:
    """Create a directory below `state`, removed at the end; first removes what dead processes left there. Blocks."""
    create_private_root(state)
    with create_process_folder(state / "sessions", secrets.token_hex(8)) as folder:
        yield folder


@contextmanager
def run_orphan_reaper(session: Path) -> Iterator[None]:
    """Kill every bubblewrap that names something in `session` when our process ends during the block."""
    guardian = subprocess.Popen(
        ["/bin/sh", "-c", _SCRIPT, "guardian", str(session)],
        stdin=subprocess.PIPE,  # held open by us alone: it closes when we end, however that comes about
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        env={"PATH": "/usr/bin:/bin"},
        start_new_session=True,
    )
    with guardian:
        try:
            yield
        finally:
            guardian.kill()
