"""The interface of all backends that run commands on a host, and what they are told of it: directories and mounts.

A backend is bubblewrap, containers, or no sandbox at all.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from os.path import normpath
from pathlib import Path, PurePosixPath
from typing import Protocol

from orchestrator.domain.paths.credentials import CREDENTIAL_PATHS
from orchestrator.domain.sandbox.tier import Tier
from orchestrator.domain.sandbox.world import World
from orchestrator.hands.execution.process_pipes import ChildPipes
from orchestrator.hands.policy import Registries, SandboxPolicy
from orchestrator.ports.hands import CommandResult, ShellCommand

SYSTEM_FOLDERS = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32")
"""Top-level directories that every sandbox has, as on the host: bound read-only, or the same symbolic links."""

PACKAGE_STORES = (Path("/nix/store"), Path("/gnu/store"), Path("/home/linuxbrew/.linuxbrew"))
"""Package stores whose members link to each other: one member needs the whole store."""

WORKTREES_FOLDER = "worktrees"
"""The directory below our state in which all worktrees lie."""

_NEVER_BELOW = tuple(map(Path, ("/proc", "/sys", "/dev", "/run", "/var/run", "/boot", "/etc")))
_NEVER_ITSELF = tuple(map(Path, ("/", "/tmp", "/var", "/var/tmp", "/var/lib")))


@dataclass(frozen=True)
class HostPaths:
    """The host directories around the work: the user's checkout, home, and our own state. Absolute paths."""

    repository: Path
    home: Path
    state: Path

    @property
    def own_folders(self) -> tuple[Path, Path]:
        """The directories that no program is taken from: what lies there may be anybody's."""
        return self.repository, self.state

    def find_bind_objection(self, directory: Path) -> str | None:
        """Return why `directory` may not be bound, as written or with links resolved; None if it may be."""
        return self._find_objection(Path(normpath(directory))) or self._find_objection(directory.resolve())

    def _find_objection(self, directory: Path) -> str | None:
        if directory in _NEVER_ITSELF or any(map(directory.is_relative_to, _NEVER_BELOW)):
            return "it belongs to the host's system, which a sandbox has its own of"
        return self._find_private_objection(directory) or self._find_own_objection(directory)

    def _find_private_objection(self, directory: Path) -> str | None:
        if self.home.is_relative_to(directory) or self.home.resolve().is_relative_to(directory):
            return "it is or contains your home directory"
        found = next(filter(directory.is_relative_to, self.list_credential_paths()), None)
        return f"it belongs to {found}, where credentials are kept" if found else None

    def _find_own_objection(self, directory: Path) -> str | None:
        if self.repository.is_relative_to(directory) or self.repository.resolve().is_relative_to(directory):
            return "it is or contains your checkout, in whose place a workspace stands"
        state = self.state.resolve()
        if state.is_relative_to(directory) or directory.is_relative_to(state):
            return "it touches the state directory of Orchestrate"
        return None

    def list_credential_paths(self) -> tuple[Path, ...]:
        """Return the known places of credentials in the home directory, as written and resolved, existing or not."""
        homes = dict.fromkeys((self.home, self.home.resolve()))
        return tuple(home / name for home in homes for name in CREDENTIAL_PATHS)

    def find_credentials_below(self, directory: Path) -> tuple[Path, ...]:
        """Return the existing places of credentials below `directory`."""
        return tuple(c for c in self.list_credential_paths() if c.is_relative_to(directory) and c.exists())


def is_system_folder(directory: Path) -> bool:
    """Return True if every sandbox has the directory anyway, as part of the system."""
    return len(directory.parts) > 1 and directory.parts[1] in SYSTEM_FOLDERS


class MountKind(StrEnum):
    """The ways to fill a place inside a sandbox."""

    READ_ONLY = "read-only"
    WRITABLE = "writable"
    EMPTY = "empty"
    LINK = "link"
    FOLDER = "folder"


@dataclass(frozen=True)
class Mount:
    """A place inside. `source` is a host path, or the target of a link; `size_bytes` bounds an empty directory."""

    kind: MountKind
    dest: str
    source: str = ""
    size_bytes: int = 0

    @property
    def is_bind_mount(self) -> bool:
        """True if it shows something of the host."""
        return self.kind in (MountKind.READ_ONLY, MountKind.WRITABLE)


def build_read_only_mount(source: object, dest: object | None = None) -> Mount:
    """Return the mount of a host file or directory, at its own path unless `dest` is given."""
    return Mount(MountKind.READ_ONLY, str(source if dest is None else dest), str(source))


def build_writable_mount(source: object, dest: object) -> Mount:
    """Return the mount of a host directory that may be written to."""
    return Mount(MountKind.WRITABLE, str(dest), str(source))


def build_tmpfs_mount(dest: object, size_bytes: int) -> Mount:
    """Return the mount of a new directory in memory."""
    return Mount(MountKind.EMPTY, str(dest), size_bytes=size_bytes)


def build_link_mount(dest: object, target: object) -> Mount:
    """Return a symbolic link as a mount."""
    return Mount(MountKind.LINK, str(dest), str(target))


def build_folder_mount(dest: object) -> Mount:
    """Return an empty directory within another mount that may be written to."""
    return Mount(MountKind.FOLDER, str(dest))


def sort_mounts(mounts: Iterable[Mount]) -> tuple[Mount, ...]:
    """Return the mounts with outer places first; of two mounts at one place the later one counts."""
    by_place = {mount.dest: mount for mount in mounts}
    return tuple(sorted(by_place.values(), key=lambda mount: _split_place(mount.dest)))


@lru_cache(maxsize=1_024)
def _split_place(dest: str) -> tuple[str, ...]:
    """Return the parts of a path; the same places come with every command."""
    return PurePosixPath(dest).parts


@dataclass(frozen=True)
class MountPlan:
    """A workspace as a sandbox sees it: its checkout `root`, its shadow git directory, and what it borrows.

    `shared` are names of things in the checkout, each with the host directory in which it lies under the same name;
    `private` are mounts that lie in the checkout as well, of which the writable ones belong to this workspace alone.
    `world` is what its commands see of the machine, by the files in `world_files`; None for what any command may see.
    """

    root: Path
    git: Path
    objects: tuple[Path, ...] = ()
    shared: Mapping[str, Path] = field(default_factory=dict, hash=False)
    private: tuple[Mount, ...] = ()
    world: World | None = None
    world_files: Path | None = None


@dataclass(frozen=True)
class ExecutionRequest:
    """A command to be run in a workspace, its whole output into `log`.

    `exchange` is a host directory for `command.files`. `timeout_s` of wall time and `output_bytes` count, not what the
    command says of them. `registries` are given with a command at tier 2, and are all it may reach.
    `pipes` are those of one that is spoken with; only its errors go into the log then.
    """

    command: ShellCommand
    mount_plan: MountPlan
    log: Path
    timeout_s: float
    output_bytes: int
    exchange: Path | None = None
    registries: Registries | None = None
    pipes: ChildPipes | None = None

    @property
    def secrets(self) -> Mapping[str, str]:
        """The variables that may stand in no argument list."""
        return self.command.grant.secrets if self.command.grant else {}

    @property
    def writable_folders(self) -> tuple[Path, ...]:
        """The host directories that the command can write to."""
        folders = [self.mount_plan.root, self.mount_plan.git]
        if self.exchange:
            folders.append(self.exchange)
        for mount in self.mount_plan.private:
            if mount.kind == MountKind.WRITABLE:
                folders.append(Path(mount.source))
        return tuple(folders)


class Backend(Protocol):
    """Runs commands behind walls. Made once per process, and self-tested before any command of a model."""

    @property
    def name(self) -> str:
        """The backend's name in one word."""

    @property
    def host_paths(self) -> HostPaths:
        """The host directories around the work."""

    @property
    def policy(self) -> SandboxPolicy:
        """The policy that commands run under."""

    @property
    def ceiling(self) -> Tier:
        """The highest tier that it can offer."""

    @property
    def description(self) -> str:
        """The program behind it, its version, and the user that commands run as."""

    def build_mounts(self, mount_plan: MountPlan) -> tuple[Mount, ...]:
        """Return the mounts of a command in a workspace; none where there are no walls."""

    def build_environment(
        self, command: ShellCommand, world: World | None = None, registries: Registries | None = None
    ) -> dict[str, str]:
        """Return all variables that the command sees in a world when it starts."""

    def draw_world(self) -> World | None:
        """Return a world for a new workspace; None where commands see the machine as it is."""

    def create_world_files(self, world: World, folder: Path) -> None:
        """Write the files by which commands see a world into the new directory `folder`. Blocks."""

    async def run_command(self, request: ExecutionRequest) -> CommandResult:
        """Run a command to its end; returns only when everything it started is dead, also when cancelled.

        Raises:
            OSError: the host could not keep a log or watch the command.
        """

    async def release_workspace(self, mount_plan: MountPlan) -> None:
        """End what is kept for a workspace between commands; it is about to be closed."""
