"""Worktrees that are made once, leased, recycled and hardly ever deleted; shared by all runs and processes."""

import os
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, count, filterfalse
from pathlib import Path

from anyio import to_thread

from worktrees.checkouts.change_reports import ChangeReports
from worktrees.checkouts.registration import WorktreeRegistrar, set_worktree_head
from worktrees.checkouts.tree_checkout import remove_leftovers
from worktrees.checkouts.tree_layout import LayoutCache, VerifiedDirectories
from worktrees.checkouts.worktree import Worktree
from worktrees.errors import GitError
from worktrees.locks.file_lock import try_file_lock
from worktrees.object_store.trees import read_tree_id
from worktrees.repositories.repository import GitRepository
from worktrees.safety.descriptors import hold_descriptor
from worktrees.safety.git_environment import Setting
from worktrees.safety.private_directory import create_private_directory

_PREFIX = "w"


class WorktreePool:
    """The worktrees of one repository below one directory outside it.

    A lease is a file lock of this process, so a process that is killed gives back what it had.
    """

    def __init__(
        self, repository: GitRepository, root: Path, owner: int | None = None, reports: ChangeReports | None = None
    ) -> None:
        """Take a repository and the directory that its worktrees lie in, outside the checkout.

        Args:
            repository: the user's.
            root: the directory, which is made if need be.
            owner: the user that the files must belong to when we run as root and commands do not.
            reports: tell what was written to a worktree that is leased again, so that only that is looked at.

        Raises:
            GitError: `root` lies inside the user's checkout.
        """
        self.repository = repository
        self._root = root.resolve()
        if self._root.is_relative_to(repository.root):
            raise GitError(
                f"worktrees cannot lie inside the checkout {repository.root}, where git and tests would find them: "
                f"choose another place than {self._root}"
            )
        self._owner = owner
        self._reports = reports
        self._registrar = WorktreeRegistrar(repository, self._root)
        self._layouts = LayoutCache()
        self._seen: dict[str, VerifiedDirectories] = {}
        self._leased: dict[str, int] = {}
        self._configuration: bytes | None = None
        self._switched_off: tuple[Setting, ...] = ()

    async def lease_worktree(self, commit: str) -> Worktree:
        """Return a worktree with exactly the content of a commit: nothing ignored or untracked is left of its last use.

        Raises:
            GitError: there is no such commit, or no worktree could be made; nothing else is ever used instead.
        """
        tree = await read_tree_id(self.repository.git, commit)
        name, lock = self._claim_name()
        try:
            worktree = await self._prepare_worktree(name, lock, commit, tree)
        except OSError as error:
            os.close(lock)
            raise GitError(f"the worktree {self._root / name} cannot be prepared: {error}") from error
        except BaseException:
            os.close(lock)
            raise
        self._leased[name] = lock
        return worktree

    async def release_worktree(self, worktree: Worktree) -> None:
        """Give a worktree back as it is; it is cleaned when it is leased again. Once is enough, twice no error."""
        lock = self._leased.pop(worktree.name, None)
        if lock is not None:
            os.close(lock)

    def list_idle_worktrees(self) -> tuple[str, ...]:
        """Return the names of all worktrees that nobody leases at this moment."""
        free = []
        for name in self._list_names():
            lock = try_file_lock(self._lock_file(name))
            if lock is not None:
                os.close(lock)
                free.append(name)
        return tuple(free)

    async def remove_idle_worktrees(self) -> tuple[str, ...]:
        """Remove all worktrees that nobody leases from disk and repository; gives their names."""
        removed = []
        for name in self._list_names():
            lock = try_file_lock(self._lock_file(name))
            if lock is None:
                continue
            with hold_descriptor(lock):
                await self._registrar.remove_worktree(name)
                self._lock_file(name).unlink(missing_ok=True)
                removed.append(name)
        await self._registrar.remove_unusable()
        return tuple(removed)

    async def _prepare_worktree(self, name: str, lock: int, commit: str, tree: str) -> Worktree:
        worktree = await self._build_worktree(
            name, lock, commit, await self._registrar.ensure_admin_directory(name, commit)
        )
        try:
            await worktree.restore_tree(tree, keeps_ignored=False, is_idle=True)
        except GitError:
            worktree = await self._build_worktree(name, lock, commit, await self._registrar.add_worktree(name, commit))
            await worktree.restore_tree(tree, keeps_ignored=False, is_idle=True)
        set_worktree_head(worktree.admin, commit)
        return worktree

    async def _build_worktree(self, name: str, lock: int, commit: str, admin: Path) -> Worktree:
        remove_leftovers(admin)
        git = replace(
            self.repository.git.with_paths(work_tree=self._root / name, index=admin / "index"),
            overrides=await self._read_driver_overrides(),
            inherit=(lock,),
        )
        seen = self._seen.setdefault(name, VerifiedDirectories())
        return Worktree(name, self._root / name, admin, commit, git, self._owner, self._layouts, seen, self._reports)

    async def _read_driver_overrides(self) -> tuple[Setting, ...]:
        """Return the drivers to switch off, asked for again when the user's configuration may have changed."""
        text = self.repository.read_configuration()
        if text != self._configuration or b"include" in text.lower():
            self._switched_off = await to_thread.run_sync(self.repository.read_driver_overrides)
            self._configuration = text
        return self._switched_off

    def _claim_name(self) -> tuple[str, int]:
        """Lock a worktree that nobody has; the name of a new one if all are taken."""
        create_private_directory(self._root)
        known = self._list_names()
        for name in filterfalse(self._leased.__contains__, chain(known, _new_names(known))):
            lock = try_file_lock(self._lock_file(name))
            if lock is not None:
                return name, lock
        raise GitError(f"no worktree can be claimed in {self._root}")  # the names above never end

    def _list_names(self) -> list[str]:
        found = []
        for file in self._root.glob(f"{_PREFIX}*.lock"):
            found.append(file.stem)
        return sorted((name for name in found if name[1:].isdecimal()), key=lambda name: int(name[1:]))

    def _lock_file(self, name: str) -> Path:
        return self._root / f"{name}.lock"


def _new_names(known: list[str]) -> Iterator[str]:
    first = int(known[-1][1:]) + 1 if known else 1
    return (f"{_PREFIX}{number}" for number in count(first))
