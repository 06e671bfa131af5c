"""What stands where inside a sandbox, and what a command sees when it starts: the same behind every backend."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from orchestrator.hands import shadow, system_files
from orchestrator.hands.backend import Place
from orchestrator.hands.mounts import Mount, empty, in_order, link, read_only, writable
from orchestrator.hands.places import SYSTEM, Surroundings, is_provided
from orchestrator.hands.policy import Policy
from orchestrator.hands.system_files import User
from orchestrator.ports.hands import Command

EXCHANGE = "/run/files"
_SPARE_HOME = "/home/agent"


@dataclass(frozen=True)
class Layout:
    """The file system and the variables of every command of this process.

    `etc` names what of the host's is mounted, `fixtures` are our own files.
    """

    policy: Policy
    around: Surroundings
    user: User
    user_name: str
    etc: tuple[str, ...]
    fixtures: Path

    @property
    def cwd(self) -> str:
        """Where a workspace stands inside: at the path of the user's own checkout."""
        return str(self.around.repository)

    def mounts(self, place: Place, is_writable: bool, exchange: Path | None) -> tuple[Mount, ...]:
        """Everything that stands inside for a command in a place; `exchange` is a host directory for its files."""
        return (*self._system(), *self._workspace(place, is_writable), *_exchange(exchange))

    def _system(self) -> Iterable[Mount]:
        size = self.policy.limits.tmpfs_bytes
        yield from (_as_on_host(Path("/") / name) for name in SYSTEM if os.path.lexists(Path("/") / name))
        yield read_only(self.fixtures / "etc", "/etc")
        yield from (read_only(f"/etc/{place}") for place in self.etc)
        yield from (empty("/tmp", size), link("/var/tmp", "/tmp"), empty(self.user.home, size))
        yield from (read_only(place) for place in (*self.policy.read_only, *self.policy.programs))
        for hidden in map(Path, self.policy.masked):
            yield empty(hidden, 4096) if hidden.is_dir() else read_only(self.fixtures / "blank", hidden)

    def _workspace(self, place: Place, is_writable: bool) -> Iterable[Mount]:
        here = self.around.repository
        yield writable(place.root, here) if is_writable else read_only(place.root, here)
        yield from (read_only(base / name, here / name) for name, base in place.shared.items())
        yield read_only(self.fixtures / "gitfile", here / ".git")
        yield writable(place.git, shadow.INSIDE)
        if place.objects:
            yield read_only(place.objects[0], shadow.OBJECTS)
            yield from (read_only(other) for other in place.objects[1:] if not other.is_relative_to(here))

    def shell(self, command: Command) -> Sequence[str]:
        """The words that carry out a command, in the directory that it asks for."""
        shell = self.user.shell
        if PurePosixPath(command.cwd) == PurePosixPath("."):
            return (shell, "-c", command.line)
        return (shell, "-c", 'cd -- "$1" && exec "$0" -c "$2"', shell, command.cwd, command.line)

    def env(self, command: Command, network: Mapping[str, str] = MappingProxyType({})) -> dict[str, str]:
        """Every variable the command sees when it starts; `network` are those that lead to the network it has."""
        base = {
            "PATH": ":".join(self.policy.path),
            "HOME": self.user.home,
            "USER": self.user_name,
            "LOGNAME": self.user_name,
            "SHELL": self.user.shell,
            "TMPDIR": "/tmp",
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "CI": "1",
        }
        files = {variable: f"{EXCHANGE}/{name}" for variable, name in command.files.items()}
        return base | dict(network) | self.policy.env | command.env | files


class OnLayout:
    """What backends have in common whose walls are built around a `layout`."""

    layout: Layout

    @property
    def policy(self) -> Policy:
        """What commands run under."""
        return self.layout.policy

    @property
    def around(self) -> Surroundings:
        """What lies around the work on the host."""
        return self.layout.around

    @property
    def owner(self) -> int | None:
        """Whom files must belong to that commands are to use; None for ourselves."""
        return self.policy.uid

    def mounts(self, place: Place) -> tuple[Mount, ...]:
        """What stands where for a command in a place."""
        return in_order(self.layout.mounts(place, True, None))


def build_layout(policy: Policy, around: Surroundings, fixtures: Path) -> Layout:
    """Prepare the files that every sandbox shares, in the new directory `fixtures`.

    Raises:
        OSError: they cannot be written, or commands would run as root.
    """
    if os.geteuid() == 0 and policy.uid is None:
        raise PermissionError("commands never run as root; grant a user to drop to")
    fixtures.mkdir(mode=0o700)
    uid = os.geteuid() if policy.uid is None else policy.uid
    gid = os.getegid() if policy.uid is None else policy.uid
    shell = "/bin/bash" if Path("/bin/bash").exists() else "/bin/sh"
    user = User(uid, gid, _home(around), shell)
    name = system_files.build(fixtures / "etc", user)
    for file, text in (("blank", ""), ("gitfile", f"gitdir: {shadow.INSIDE}\n")):
        (fixtures / file).write_text(text, encoding="utf-8")
        (fixtures / file).chmod(0o444)
        os.chown(fixtures / file, uid, gid)
    return Layout(policy, around, user, name, system_files.bound(), fixtures)


def _home(around: Surroundings) -> str:
    """The user's own home path, where nothing else stands: tool chains below it stay where they are."""
    home = around.home
    taken = around.repository.is_relative_to(home) and around.repository == home
    is_odd = not home.is_absolute() or is_provided(home) or len(home.parts) < 2 or home.parts[1] in _ODD
    return _SPARE_HOME if taken or is_odd or home.is_relative_to(around.repository) else str(home)


_ODD = ("etc", "dev", "proc", "sys", "run", "nonexistent")


def _as_on_host(place: Path) -> Mount:
    return link(place, place.readlink()) if place.is_symlink() else read_only(place)


def _exchange(exchange: Path | None) -> Iterable[Mount]:
    return () if exchange is None else (writable(exchange, EXCHANGE),)
