"""The mounts of one workspace's commands: its checkout, a git directory of its own, what it borrows."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from anyio import to_thread

from orchestrator.domain.sandbox.world import World
from orchestrator.hands.execution.program_grants import build_grant_mounts
from orchestrator.hands.files import shadow_git, workspace_files
from orchestrator.hands.files.directory_trees import remove_tree
from orchestrator.hands.private_copies.borrowed_places import BorrowedPlaces
from orchestrator.hands.sandbox.backend import Mount, MountPlan
from orchestrator.hands.workspace_host import WorkspaceHost
from orchestrator.ports.hands import ShellCommand
from worktrees.checkouts.worktree import Worktree
from worktrees.safety.removal import open_root_directory


class WorkspaceMounts:
    """The mounts, and the files behind them in `folder`, outside of its checkout.

    `world` is what its commands see of the machine, None without a sandbox.
    """

    def __init__(
        self, host: WorkspaceHost, worktree: Worktree, world: World | None, places: BorrowedPlaces, folder: Path
    ) -> None:
        self._host = host
        self._worktree = worktree
        self._world = world
        self._places = places
        self._git = folder / "git"
        self._world_files = folder / "world"
        self._is_complete = False
        """True once a command has been prepared, until git's state is removed again."""

    async def prepare_mounts(self, command: ShellCommand, exchange: Path) -> MountPlan:
        """Make what is missing of the files for a command, and return what it mounts.

        Where nothing is to be made, to look takes less time than the way to a thread.

        Raises:
            OSError: something cannot be made.
        """
        if self._is_complete and not self._host.shared and command.grant is None:
            return self._prepare(command, exchange)
        plan = await to_thread.run_sync(self._prepare, command, exchange)
        self._is_complete = True
        return plan

    async def remove_git(self) -> None:
        """Remove git's state inside: the next command finds it as at the checkout's commit."""
        self._is_complete = False
        await to_thread.run_sync(remove_tree, self._git)

    def build_plan(self, shared: Mapping[str, Path] | None = None, private: tuple[Mount, ...] = ()) -> MountPlan:
        """Return the mounts with names that are shared, and mounts of the workspace's own; makes nothing."""
        objects = (self._host.origin.objects, *self._host.origin.lent)
        return MountPlan(self._worktree.root, self._git, objects, shared or {}, private, self._world, self._world_files)

    def _prepare(self, command: ShellCommand, exchange: Path) -> MountPlan:
        host, owner = self._host, self._host.policy.uid
        os.close(open_root_directory(self._worktree.root))  # a command may have closed it to its own user
        self._create_world_files()
        if not self._git.exists():
            index, identity = self._worktree.admin / "index", self._build_identity()
            shadow_git.create_shadow_git(self._git, host.origin, self._worktree.commit, index, owner, identity)
        plan = self.build_plan(*self._places.prepare_places())
        if command.grant is None or self._world is None:
            return plan
        granted = build_grant_mounts(command.grant, exchange, self._world.home, owner)
        return replace(plan, private=(*plan.private, *granted))

    def _build_identity(self) -> shadow_git.ShadowIdentity:
        """Return the names in the shadow; without a sandbox its objects are where they are."""
        if self._world is None:
            return shadow_git.ShadowIdentity(str(self._host.origin.objects))
        return shadow_git.ShadowIdentity(self._world.objects, self._world.branch, self._world.user, self._world.host)

    def _create_world_files(self) -> None:
        """Write the files of this workspace's world, and make `.git` the directory that its shadow is mounted on."""
        if self._world is None or self._host.backend is None:
            return
        if not self._world_files.exists():
            self._host.backend.create_world_files(self._world, self._world_files)
        workspace_files.create_git_mount_point(self._worktree.root, self._host.policy.uid)
