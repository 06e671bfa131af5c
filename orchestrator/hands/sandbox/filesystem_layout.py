"""The file system and the variables that a command finds inside a sandbox: the same behind every backend."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from orchestrator.hands.files import shadow_git
from orchestrator.hands.policy import SandboxPolicy
from orchestrator.hands.sandbox import backend, etc_files
from orchestrator.hands.sandbox.etc_files import SandboxUser
from orchestrator.ports.hands import ShellCommand

EXCHANGE_FOLDER = "/run/files"
BASE_VARIABLES = {"TMPDIR": "/tmp", "LANG": "C.UTF-8", "TERM": "dumb", "CI": "1"}
"""Variables of every command, with and without a sandbox."""

_SPARE_HOME = "/home/agent"


@dataclass(frozen=True)
class SandboxLayout:
    """The file system and the variables of every command of this process.

    `etc` names the directories of the host's /etc that are mounted; the directory `fixtures` holds our own files.
    """

    policy: SandboxPolicy
    host_paths: backend.HostPaths
    user: SandboxUser
    user_name: str
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
        mounts = (*self._iterate_system_mounts(), *self._iterate_workspace_mounts(mount_plan, is_writable))
        return (*mounts, backend.build_writable_mount(exchange, EXCHANGE_FOLDER)) if exchange is not None else mounts

    def _iterate_system_mounts(self) -> Iterable[backend.Mount]:
        size = self.policy.limits.tmpfs_bytes
        for name in backend.SYSTEM_FOLDERS:
            if os.path.lexists(Path("/") / name):
                yield _mirror_host_folder(Path("/") / name)
        yield backend.build_read_only_mount(self.fixtures / "etc", "/etc")
        for path in self.etc:
            yield backend.build_read_only_mount(f"/etc/{path}")
        yield backend.build_tmpfs_mount("/tmp", size)
        yield backend.build_link_mount("/var/tmp", "/tmp")
        yield backend.build_tmpfs_mount(self.user.home, size)
        for path in (*self.policy.read_only, *self.policy.programs):
            yield backend.build_read_only_mount(path)
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
        yield backend.build_read_only_mount(self.fixtures / "gitfile", checkout / ".git")
        yield backend.build_writable_mount(mount_plan.git, shadow_git.SHADOW_GIT_FOLDER)
        if mount_plan.objects:
            yield backend.build_read_only_mount(mount_plan.objects[0], shadow_git.OBJECTS_FOLDER)
            for other in mount_plan.objects[1:]:
                if not other.is_relative_to(checkout):
                    yield backend.build_read_only_mount(other)

    def build_shell_command(self, command: ShellCommand) -> Sequence[str]:
        """Return the words that run a command in the directory it asks for."""
        shell = self.user.shell
        if PurePosixPath(command.cwd) == PurePosixPath("."):
            return (shell, "-c", command.line)
        return (shell, "-c", 'cd -- "$1" && exec "$0" -c "$2"', shell, command.cwd, command.line)

    def build_environment(self, command: ShellCommand, network: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return all variables that the command sees when it starts; `network` are those of its network access."""
        user = {"HOME": self.user.home, "USER": self.user_name, "LOGNAME": self.user_name, "SHELL": self.user.shell}
        base = {"PATH": ":".join(self.policy.path), **user, **BASE_VARIABLES}
        files = {variable: f"{EXCHANGE_FOLDER}/{name}" for variable, name in command.files.items()}
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


def build_layout(policy: SandboxPolicy, host_paths: backend.HostPaths, fixtures: Path) -> SandboxLayout:
    """Prepare the files that every sandbox shares, in the new directory `fixtures`.

    Raises:
        OSError: they cannot be written, or commands would run as root.
    """
    if os.geteuid() == 0 and policy.uid is None:
        raise PermissionError("commands never run as root; grant a user to drop to")
    fixtures.mkdir(mode=0o700)
    uid, gid = (os.geteuid(), os.getegid()) if policy.uid is None else (policy.uid, policy.uid)
    user = SandboxUser(uid, gid, _choose_home(host_paths), find_shell())
    name = etc_files.create_etc(fixtures / "etc", user)
    for file, text in (("blank", ""), ("gitfile", f"gitdir: {shadow_git.SHADOW_GIT_FOLDER}\n")):
        (fixtures / file).write_text(text, encoding="utf-8")
        (fixtures / file).chmod(0o444)
        os.chown(fixtures / file, uid, gid)
    return SandboxLayout(policy, host_paths, user, name, etc_files.list_etc_mounts(), fixtures)


def find_shell() -> str:
    """Return the host's shell for command lines: bash where there is one."""
    return "/bin/bash" if Path("/bin/bash").exists() else "/bin/sh"


def _choose_home(host_paths: backend.HostPaths) -> str:
    """Return the user's own home path, or a spare one where something else stands there.

    Tool chains below the home directory stay where they are.
    """
    home = host_paths.home
    is_taken = host_paths.repository == home
    is_odd = not home.is_absolute() or backend.is_system_folder(home) or len(home.parts) < 2 or home.parts[1] in _ODD
    if is_taken or is_odd or home.is_relative_to(host_paths.repository):
        return _SPARE_HOME
    return str(home)


_ODD = ("etc", "dev", "proc", "sys", "run", "nonexistent")


def _mirror_host_folder(path: Path) -> backend.Mount:
    if path.is_symlink():
        return backend.build_link_mount(path, path.readlink())
    return backend.build_read_only_mount(path)
