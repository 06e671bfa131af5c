"""One sandbox design for all commands of this process: turns a command in a workspace into a launch."""

import os
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import anyio
from anyio import to_thread

from orchestrator.domain.tier import Tier
from orchestrator.hands import process, seccomp, shadow, system_files
from orchestrator.hands.backend import Order, Place
from orchestrator.hands.bubblewrap import Launch, arguments
from orchestrator.hands.ceilings import limited
from orchestrator.hands.cgroup import Group, Groups, are_needed, usable_groups
from orchestrator.hands.mounts import Mount, empty, link, read_only, writable
from orchestrator.hands.places import SYSTEM, Surroundings, is_provided
from orchestrator.hands.policy import Policy
from orchestrator.hands.process import Ended, Terms
from orchestrator.hands.programs import Programs
from orchestrator.hands.started import Build
from orchestrator.hands.system_files import User
from orchestrator.hands.watchdog import Bounds
from orchestrator.ports.hands import Command

EXCHANGE = "/run/files"
_SPARE_HOME = "/home/agent"


@dataclass(frozen=True)
class Sandbox:
    """Bubblewrap as a `Backend`, made once per process by `build_sandbox`.

    `etc` names what of the host's is mounted, `fixtures` are our own files. `filter_file` holds the filter of system
    calls, None on machines whose calls we do not know; `groups` makes control groups where the limits need some.
    """

    policy: Policy
    programs: Programs
    around: Surroundings
    user: User
    user_name: str
    etc: tuple[str, ...]
    fixtures: Path
    filter_file: Path | None = None
    groups: Groups | None = None

    @property
    def owner(self) -> int | None:
        """Whom files must belong to that commands are to use; None for ourselves."""
        return self.policy.uid

    @property
    def ceiling(self) -> Tier:
        """The highest tier that it can offer."""
        return Tier.COMMANDS

    @property
    def described(self) -> str:
        """The program behind it, its version, and as whom commands run."""
        who = "as yourself" if self.policy.uid is None else f"as user {self.policy.uid}"
        calls = "system calls filtered" if self.filter_file else "system calls not filtered on this machine"
        return f"{self.programs.version} at {self.programs.bwrap}, {who}, {calls}{self._held}"

    @property
    def _held(self) -> str:
        if not are_needed(self.policy.limits):
            return ""
        version = self.groups.version if self.groups else 0
        return f", limits held by cgroups v{version}" if version else ", limits watched by sampling"

    async def run(self, order: Order) -> Ended:
        """Run a command to its end, in a sandbox of its own."""
        build = self.build(order.command, order.place, order.exchange)
        folders = (order.place.root, order.place.git, *([order.exchange] if order.exchange else []))
        async with self._group() as group:
            bounds = Bounds(self.policy.limits, folders, ("/tmp", "/dev/shm", self.user.home), group)
            terms = Terms(order.timeout_s, order.output_bytes, bounds, self.owner, self.filter_file)
            return await process.run(build, order.log, terms, order.command.stdin)

    @asynccontextmanager
    async def _group(self) -> AsyncIterator[Group | None]:
        """A control group of the command's own, where the limits need one and there can be one."""
        if self.groups is None:
            yield None
            return
        with anyio.CancelScope(shield=True):
            group = await to_thread.run_sync(self.groups.make, self.policy.limits)
        try:
            yield group
        finally:
            with anyio.CancelScope(shield=True):
                await to_thread.run_sync(group.remove)

    async def leave(self, place: Place) -> None:
        """Nothing is kept between commands."""

    def build(self, command: Command, place: Place, exchange: Path | None = None) -> Build:
        """The command line for a command in a place; `exchange` is a host directory for `command.files`."""
        launch = Launch(
            mounts=(*self._system(), *self._workspace(place, command.writable), *_exchange(exchange)),
            env=self.env(command),
            cwd=str(self.around.repository),
            command=limited(self._shell(command), self.policy.limits, self.programs.prlimit),
            shm_bytes=self.policy.limits.tmpfs_bytes,
        )
        programs, uid = self.programs, self.policy.uid
        return lambda fds: arguments(launch, programs, uid, fds.info, fds.status, fds.gate, fds.filter)

    def _system(self) -> Iterable[Mount]:
        size = self.policy.limits.tmpfs_bytes
        yield from (_as_on_host(Path("/") / name) for name in SYSTEM if os.path.lexists(Path("/") / name))
        yield read_only(self.fixtures / "etc", "/etc")
        yield from (read_only(f"/etc/{place}") for place in self.etc)
        yield from (empty("/tmp", size), link("/var/tmp", "/tmp"), empty(self.user.home, size))
        yield from (read_only(directory) for directory in self.policy.read_only)
        for hidden in map(Path, self.policy.masked):
            yield empty(hidden, 4096) if hidden.is_dir() else read_only(self.fixtures / "blank", hidden)

    def _workspace(self, place: Place, is_writable: bool) -> Iterable[Mount]:
        here = self.around.repository
        yield writable(place.root, here) if is_writable else read_only(place.root, here)
        yield from (read_only(here / name) for name in place.shared)
        yield read_only(self.fixtures / "gitfile", here / ".git")
        yield writable(place.git, shadow.INSIDE)
        if place.objects:
            yield read_only(place.objects[0], shadow.OBJECTS)
            yield from (read_only(other) for other in place.objects[1:] if not other.is_relative_to(here))

    def _shell(self, command: Command) -> Sequence[str]:
        shell = self.user.shell
        if PurePosixPath(command.cwd) == PurePosixPath("."):
            return (shell, "-c", command.line)
        return (shell, "-c", 'cd -- "$1" && exec "$0" -c "$2"', shell, command.cwd, command.line)

    def env(self, command: Command) -> dict[str, str]:
        """Every variable the command sees when it starts."""
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
        return base | self.policy.env | command.env | files


def build_sandbox(policy: Policy, programs: Programs, around: Surroundings, fixtures: Path) -> Sandbox:
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
    filter_file = seccomp.write_filter(fixtures / "filter")
    groups = usable_groups(policy.limits)
    return Sandbox(policy, programs, around, user, name, system_files.bound(), fixtures, filter_file, groups)


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
