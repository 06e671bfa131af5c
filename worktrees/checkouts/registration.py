"""Registering worktrees with the user's repository, and finding them again without asking what lies inside them."""

import json
import os
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import anyio
from anyio import CancelScope, to_thread

from worktrees.durable_files import write_durably
from worktrees.errors import GitError
from worktrees.git import Git
from worktrees.locks.file_lock import hold_file_lock
from worktrees.repositories.repository import GitRepository
from worktrees.safety.descriptors import open_unwaiting
from worktrees.safety.removal import REMOVED_PREFIX, open_unfollowed, remove_entry

_LOCK = "orchestrate.lock"
_REASON = "used by orchestrate; `orchestrate gc` removes it"
_UNUSABLE = ".unusable-"
_POINTER_LIMIT = 8192


@dataclass
class WorktreeRegistrar:
    """Adds and removes worktrees below `pool`, one at a time among all processes that use the repository."""

    repository: GitRepository
    pool: Path
    _is_swept: bool = field(default=False, repr=False)
    """True once what killed processes had half made was looked for."""

    async def ensure_admin_directory(self, name: str, commit: str) -> Path:
        """Find the admin directory of a worktree, or make it anew if it is missing or broken beyond repair."""
        admin = await to_thread.run_sync(self._find_recorded, name)
        return admin or await self.add_worktree(name, commit)

    async def add_worktree(self, name: str, commit: str) -> Path:
        """Register a new, empty worktree in place of whatever is there.

        Raises:
            GitError: git refused, or what is there cannot be removed.
        """
        root = self.pool / name
        options = ("-f", "-f", "--no-checkout", "--detach", "--lock", "--reason", _REASON)
        with CancelScope(shield=True):  # a registration cut short would break `git worktree` for everybody
            async with self._hold_lock() as lock:
                await to_thread.run_sync(self._clear_place, name)
                git = Git(self.repository.common_dir, overrides=self.repository.git.overrides, inherit=(lock,))
                try:
                    await git.run("worktree", "add", *options, str(root), commit)
                except GitError:  # it trips over what a process that was killed meanwhile has half made
                    self._is_swept = False
                    await to_thread.run_sync(self._clear_place, name)
                    await git.run("worktree", "add", *options, str(root), commit)
        admin = self._read_new_admin(root)
        record = json.dumps({"version": 1, "admin": str(admin)})
        _replace_file(self.pool / f"{name}.json", record)
        return admin

    async def remove_worktree(self, name: str) -> None:
        """Unregister a worktree and remove its files; the caller must hold it."""
        with CancelScope(shield=True):
            async with self._hold_lock():
                await to_thread.run_sync(self._remove_registration, name)

    async def remove_unusable(self) -> None:
        """Try again to remove what could not be removed at its time."""
        async with self._hold_lock():
            await to_thread.run_sync(self._remove_unusable)

    @cached_property
    def _turn(self) -> anyio.Lock:
        """The lock of the task of this process that has the lock between processes, or waits for it."""
        return anyio.Lock()

    @asynccontextmanager
    async def _hold_lock(self) -> AsyncIterator[int]:
        async with self._turn, hold_file_lock(self.repository.common_dir / _LOCK) as lock:
            yield lock

    def _remove_unusable(self) -> None:
        for place in (*self.pool.glob(f"{_UNUSABLE}*"), *self.pool.glob(f"{REMOVED_PREFIX}*")):
            with suppress(OSError):
                _remove_at(self.pool, place.name)

    def _remove_registration(self, name: str) -> None:
        admin = self._read_recorded_admin(name)
        self._clear_place(name)
        if admin is not None and self._is_ours(admin, name):
            _remove_at(admin.parent, admin.name)
        (self.pool / f"{name}.json").unlink(missing_ok=True)

    def _clear_place(self, name: str) -> None:
        if not self._is_swept:
            self._remove_half_made()
            self._is_swept = True
        try:
            _remove_at(self.pool, name)
        except OSError:  # somebody has mounted something there, or the files are another user's: out of the way
            with suppress(FileNotFoundError):
                (self.pool / name).rename(self.pool / f"{_UNUSABLE}{name}-{os.urandom(4).hex()}")

    def _remove_half_made(self) -> None:
        """Remove our registrations that a killed git left without their last file, as git trips over them.

        Those of a pool that is gone go, too: the repository was moved since, or the state directory removed.
        """
        for admin in self._worktrees.glob("*"):
            pool = Path(_read_pointer(admin / "gitdir") or "").parent.parent
            is_half_made = pool == self.pool and not _read_pointer(admin / "commondir")
            is_orphaned = (_read_pointer(admin / "locked") or "").startswith(_REASON) and not pool.exists()
            if is_half_made or is_orphaned:
                _remove_at(admin.parent, admin.name)

    def _read_new_admin(self, root: Path) -> Path:
        """Return the admin directory that a worktree names which git has just made; never asked again later."""
        admin = Path((_read_pointer(root / ".git") or "").removeprefix("gitdir: ").rstrip("\n"))
        if admin.parent != self._worktrees:
            raise GitError(f"git registered {root} at an unexpected place: {admin}")
        return admin

    def _find_recorded(self, name: str) -> Path | None:
        admin = self._read_recorded_admin(name)
        root = self.pool / name
        if admin is None or not _is_directory(admin) or not _is_directory(root):
            return None
        for file, content in (("gitdir", f"{root}/.git\n"), ("commondir", "../..\n")):
            if _read_pointer(admin / file) != content:
                _replace_file(admin / file, content)
        _put_pointer(root, f"gitdir: {admin}\n")
        return admin

    def _read_recorded_admin(self, name: str) -> Path | None:
        with suppress(ValueError, KeyError, TypeError):
            admin = Path(json.loads(_read_pointer(self.pool / f"{name}.json") or "")["admin"])
            if admin.parent == self._worktrees:
                return admin
            return None
        return None

    def _is_ours(self, admin: Path, name: str) -> bool:
        return _read_pointer(admin / "gitdir") == f"{self.pool / name}/.git\n"

    @property
    def _worktrees(self) -> Path:
        return self.repository.common_dir / "worktrees"


def set_worktree_head(admin: Path, commit: str) -> None:
    """Let `git worktree list`, and git's garbage collection, know which commit the worktree is at."""
    if _read_pointer(admin / "HEAD") != f"{commit}\n":
        _replace_file(admin / "HEAD", f"{commit}\n")


def _put_pointer(root: Path, content: str) -> None:
    """Make `.git` in a worktree the file it should be, whatever somebody has put there instead."""
    with open_unfollowed(root) as directory:
        if _read_pointer(root / ".git") != content:
            remove_entry(directory, ".git")
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with os.fdopen(os.open(".git", flags, 0o644, dir_fd=directory), "w", encoding="utf-8") as pointer:
                pointer.write(content)


def _read_pointer(file: Path) -> str | None:
    """Return a small regular file's content; None for anything else, which is neither followed nor waited for."""
    with suppress(OSError), open_unwaiting(file) as opened:
        if stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
            return opened.read(_POINTER_LIMIT).decode("utf-8", "surrogateescape")
    return None


def _replace_file(file: Path, content: str) -> None:
    write_durably(file, content.encode("utf-8", "surrogateescape"), mode=0o666)


def _remove_at(parent: Path, name: str) -> None:
    with open_unfollowed(parent) as directory:
        remove_entry(directory, name)


def _is_directory(place: Path) -> bool:
    with suppress(OSError):
        return stat.S_ISDIR(place.stat(follow_symlinks=False).st_mode)
    return False
