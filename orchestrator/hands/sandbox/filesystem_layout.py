"""The file system and the variables that a command finds inside a sandbox: the same behind every backend."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

from orchestrator.domain.sandbox.world import World
from orchestrator.hands.policy import SandboxPolicy
from orchestrator.hands.sandbox import backend, etc_files
from orchestrator.hands.sandbox.worlds import WorldDraw
from orchestrator.ports.hands import ShellCommand

BASE_VARIABLES = {"TMPDIR": "/tmp", "LANG": "C.UTF-8", "TERM": "dumb", "CI": "1"}
"""Variables of every command, with and without a sandbox."""


@dataclass(frozen=True)
class SandboxLayout:
    """The file system and the variables of every command of this process.

    `etc` names the directories of the host's /etc that are mounted; the directory `fixtures` holds our own files.
    `plain_world` is that of a workspace which has drawn none of its `worlds`.
    """

    policy: SandboxPolicy
    host_paths: backend.HostPaths
    shell: str
    worlds: WorldDraw
    plain_world: World
    etc: tuple[str, ...]
    fixtures: Path

    @property
    def cwd(self) -> str:
        """The path of a workspace inside, which is that of the user's own checkout."""
        return str(self.host_paths.repository)

    def build_mounts(
        self, mount_plan: backend.MountPlan, is_writable: bool, exchange: Path | None
    ) -> tuple[backend.Mount, ...]:
        """Return all mounts for a command in a workspace; `exchange` is a host directory for its files."""
        world = self.get_world(mount_plan)
        mounts = (*self._system_mounts, *self._iterate_masks(), *self._iterate_world_mounts(mount_plan))
        mounts = (*mounts, *self._iterate_workspace_mounts(mount_plan, is_writable))
        if exchange is None:
            return mounts
        return (*mounts, backend.build_writable_mount(exchange, world.exchange))

    def get_world(self, mount_plan: backend.MountPlan) -> World:
        """Return the world of a workspace."""
        return mount_plan.world or self.plain_world

    def _iterate_world_mounts(self, mount_plan: backend.MountPlan) -> Iterable[backend.Mount]:
        world, files = self.get_world(mount_plan), mount_plan.world_files or self.fixtures / "world"
        for name in etc_files.WORLD_FILES:
            yield backend.build_read_only_mount(files / name, f"/etc/{name}")
        yield backend.build_tmpfs_mount(world.home, self.policy.limits.tmpfs_bytes)
        if world.temporary != "/tmp":
            yield backend.build_folder_mount(world.temporary)

    @cached_property
    def _system_mounts(self) -> tuple[backend.Mount, ...]:
        """The mounts that are the same for every command."""
        mounts = []
        for name in backend.SYSTEM_FOLDERS:
            if os.path.lexists(Path("/") / name):
                mounts.append(_mirror_host_folder(Path("/") / name))
        mounts.append(backend.build_read_only_mount(self.fixtures / "etc", "/etc"))
        for path in self.etc:
            mounts.append(backend.build_read_only_mount(f"/etc/{path}"))
        mounts.append(backend.build_tmpfs_mount("/tmp", self.policy.limits.tmpfs_bytes))
        mounts.append(backend.build_link_mount("/var/tmp", "/tmp"))
        for path in (*self.policy.read_only, *self.policy.programs):
            mounts.append(backend.build_read_only_mount(path))
        return tuple(mounts)

    def _iterate_masks(self) -> Iterable[backend.Mount]:
        """Yield what covers the host's confidential places, of which some may come while a run lasts."""
        for hidden in map(Path, self.policy.masked):
            blank = self.fixtures / "blank"
            yield (
                backend.build_tmpfs_mount(hidden, 4096)
                if hidden.is_dir()
                else backend.build_read_only_mount(blank, hidden)
            )

    def _iterate_workspace_mounts(self, mount_plan: backend.MountPlan, is_writable: bool) -> Iterable[backend.Mount]:
        checkout = self.host_paths.repository
        bind = backend.build_writable_mount if is_writable else backend.build_read_only_mount
        yield bind(mount_plan.root, checkout)
        for name, base in mount_plan.shared.items():
            yield backend.build_read_only_mount(base / name, checkout / name)
        yield from mount_plan.private
        yield backend.build_writable_mount(mount_plan.git, checkout / ".git")
        if mount_plan.objects:
            yield backend.build_read_only_mount(mount_plan.objects[0], self.get_world(mount_plan).objects)
            for other in mount_plan.objects[1:]:
                if not other.is_relative_to(checkout):
                    yield backend.build_read_only_mount(other)

    def build_shell_command(self, command: ShellCommand) -> Sequence[str]:
        """Return the words that run a command in the directory it asks for."""
        shell = self.shell
        if PurePosixPath(command.cwd) == PurePosixPath("."):
            return (shell, "-c", command.line)
        return (shell, "-c", 'cd -- "$1" && exec "$0" -c "$2"', shell, command.cwd, command.line)

    def build_environment(
        self, command: ShellCommand, world: World | None = None, network: Mapping[str, str] | None = None
    ) -> dict[str, str]:
        """Return all variables that the command sees in a world; `network` are those of its network access."""
        world = world or self.plain_world
        user = {"HOME": world.home, "USER": world.user, "LOGNAME": world.user, "SHELL": self.shell}
        drawn = {"TMPDIR": world.temporary, "PYTHONHASHSEED": str(world.hash_seed)}
        base = {"PATH": ":".join(self.policy.path), **user, **BASE_VARIABLES, **drawn}
        files = {variable: f"{world.exchange}/{name}" for variable, name in command.files.items()}
        return base | dict(network or {}) | self.policy.env | command.env | files


class LayoutBackend:
    """Base class of the backends whose walls are built around a `layout`."""

    layout: SandboxLayout

    @property
    def policy(self) -> SandboxPolicy:
        """The policy that commands run under."""
        return self.layout.policy

    @property
    def host_paths(self) -> backend.HostPaths:
        """The host directories around the work."""
        return self.layout.host_paths

    @property
    def user_note(self) -> str:
        """The user that commands run as, in words."""
        return f"as user {self.policy.uid}" if self.policy.uid is not None else "as yourself"

    def build_mounts(self, mount_plan: backend.MountPlan) -> tuple[backend.Mount, ...]:
        """Return the mounts of a command in a workspace."""
        return backend.sort_mounts(self.layout.build_mounts(mount_plan, True, None))

    def draw_world(self) -> World:
        """Return a world for a new workspace."""
        return self.layout.worlds.draw_world()

    def create_world_files(self, world: World, folder: Path) -> None:
        """Write the files by which commands see a world into the new directory `folder`. Blocks."""
        folder.mkdir(parents=True)
        etc_files.create_world_etc(folder, world, self.layout.shell)


def build_layout(
    policy: SandboxPolicy, host_paths: backend.HostPaths, fixtures: Path, *, is_namespace_own: bool
) -> SandboxLayout:
    """Prepare the files that every sandbox shares, in the new directory `fixtures`.

    Where each command has a user namespace of its own, worlds differ in their uid, and in a TMPDIR below `/tmp`.

    Raises:
        OSError: they cannot be written, or commands would run as root.
    """
    if os.geteuid() == 0 and policy.uid is None:
        raise PermissionError("commands never run as root; grant a user to drop to")
    fixtures.mkdir(mode=0o700)
    owner, group = (os.geteuid(), os.getegid()) if policy.uid is None else (policy.uid, policy.uid)
    etc_files.create_etc(fixtures / "etc")
    (fixtures / "blank").touch(mode=0o444)
    os.chown(fixtures / "blank", owner, group)
    bound = [*map(Path, (*policy.read_only, *policy.programs)), host_paths.repository]
    home = _choose_home(host_paths, bound)
    ids = None if is_namespace_own else (owner, group)
    worlds = WorldDraw(home, ids, bound)
    world, shell = worlds.draw_world(), find_shell()
    (fixtures / "world").mkdir()
    etc_files.create_world_etc(fixtures / "world", world, shell)
    return SandboxLayout(policy, host_paths, shell, worlds, world, etc_files.list_etc_mounts(), fixtures)


def find_shell() -> str:
    """Return the host's shell for command lines: bash where there is one."""
    return "/bin/bash" if Path("/bin/bash").exists() else "/bin/sh"


def _choose_home(host_paths: backend.HostPaths, bound: Iterable[Path]) -> str | None:
    """Return the user's own home path if tool chains lie in it, as many look for their files there; else None.

    None as well where something else stands in its place.
    """
    home = host_paths.home
    is_odd = not home.is_absolute() or backend.is_system_folder(home) or len(home.parts) < 2 or home.parts[1] in _ODD
    if is_odd or home.is_relative_to(host_paths.repository):
        return None
    for path in bound:
        if path.is_relative_to(home) and path != host_paths.repository:
            return str(home)
    return None


_ODD = ("etc", "dev", "proc", "sys", "run", "nonexistent")


def _mirror_host_folder(path: Path) -> backend.Mount:
    if path.is_symlink():
        return backend.build_link_mount(path, path.readlink())
    return backend.build_read_only_mount(path)
