"""One sandbox design for all commands of this process: turns a command in a workspace into a launch."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from orchestrator.domain.tier import Tier
from orchestrator.hands import process, shadow, system_files
from orchestrator.hands.backend import Order, Place
from orchestrator.hands.bubblewrap import Launch, arguments
from orchestrator.hands.ceilings import limited
from orchestrator.hands.mounts import Mount, empty, link, read_only, writable
from orchestrator.hands.places import SYSTEM, Surroundings, is_provided
from orchestrator.hands.policy import Policy, Registries
from orchestrator.hands.process import Ended
from orchestrator.hands.programs import Programs
from orchestrator.hands.registries import INSIDE
from orchestrator.hands.started import Build
from orchestrator.hands.system_files import User
from orchestrator.hands.way_out import WayOut, variables, way_out
from orchestrator.ports.hands import Command

EXCHANGE = "/run/files"
_SPARE_HOME = "/home/agent"


@dataclass(frozen=True)
class Sandbox:
    """Bubblewrap as a `Backend`, made once per process by `build_sandbox`.

    `etc` names what of the host's is mounted, `fixtures` are our own files.
    """

    policy: Policy
    programs: Programs
    around: Surroundings
    user: User
    user_name: str
    etc: tuple[str, ...]
    fixtures: Path

    @property
    def owner(self) -> int | None:
        """Whom files must belong to that commands are to use; None for ourselves."""
        return self.policy.uid

    @property
    def ceiling(self) -> Tier:
        """The highest tier that it can offer."""
        return Tier.EVERYTHING

    @property
    def described(self) -> str:
        """The program behind it, its version, and as whom commands run."""
        who = "as yourself" if self.policy.uid is None else f"as user {self.policy.uid}"
        return f"{self.programs.version} at {self.programs.bwrap}, {who}"

    async def run(self, order: Order) -> Ended:
        """Run a command to its end, in a sandbox of its own."""
        if order.command.tier != Tier.REGISTRIES or order.registries is None:
            return await self._run(order)
        async with way_out(order.registries, self.fixtures.parent / "network") as way:
            ended = await self._run(order, way)
        return replace(ended, network=way.decisions)

    async def _run(self, order: Order, way: WayOut | None = None) -> Ended:
        build = self.build(order.command, order.place, order.exchange, way)
        stdin = order.command.stdin
        return await process.run(build, order.log, order.timeout_s, order.output_bytes, self.owner, stdin)

    async def leave(self, place: Place) -> None:
        """Nothing is kept between commands."""

    def build(self, command: Command, place: Place, exchange: Path | None = None, way: WayOut | None = None) -> Build:
        """The command line for a command in a place; `exchange` is a host directory for `command.files`.

        Without a `way` out a command at tier 2 has no network.
        """
        own = (*self._system(), *self._workspace(place, command.writable), *_exchange(exchange))
        words = (*(way.words if way else ()), *self._shell(command))
        launch = Launch(
            mounts=(*own, *_network(command.tier, way)),
            env=self.env(command, way.registries if way else None),
            cwd=str(self.around.repository),
            command=limited(words, self.policy.limits, self.programs.prlimit),
            shm_bytes=self.policy.limits.tmpfs_bytes,
            shares_network=command.tier == Tier.EVERYTHING,
        )
        return lambda info, status: arguments(launch, self.programs, self.policy.uid, info, status)

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
        yield from (read_only(base / name, here / name) for name, base in place.shared.items())
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

    def env(self, command: Command, registries: Registries | None = None) -> dict[str, str]:
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
        network = variables(registries) if registries else {}
        return base | network | self.policy.env | command.env | files


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
    return Sandbox(policy, programs, around, user, name, system_files.bound(), fixtures)


def _home(around: Surroundings) -> str:
    """The user's own home path, where nothing else stands: tool chains below it stay where they are."""
    home = around.home
    taken = around.repository.is_relative_to(home) and around.repository == home
    is_odd = not home.is_absolute() or is_provided(home) or len(home.parts) < 2 or home.parts[1] in _ODD
    return _SPARE_HOME if taken or is_odd or home.is_relative_to(around.repository) else str(home)


_ODD = ("etc", "dev", "proc", "sys", "run", "nonexistent")


def _as_on_host(place: Path) -> Mount:
    return link(place, place.readlink()) if place.is_symlink() else read_only(place)


def _network(tier: Tier, way: WayOut | None) -> Iterable[Mount]:
    if way:
        yield read_only(way.folder, INSIDE)
        yield from (read_only(folder) for folder in way.registries.folders)
    if tier == Tier.EVERYTHING:
        files = ((Path("/etc") / name).resolve() for name in system_files.NAMES)
        yield from (
            read_only(file, f"/etc/{name}")
            for name, file in zip(system_files.NAMES, files, strict=True)
            if file.is_file()
        )


def _exchange(exchange: Path | None) -> Iterable[Mount]:
    return () if exchange is None else (writable(exchange, EXCHANGE),)
