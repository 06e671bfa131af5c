"""The command lines that build a sandbox. Pure: what stands on the host is decided by the caller.

A normal user starts one bubblewrap. Root starts two: the outer one, still root, stages what is to be bound where a
user without rights can read it and drops to that user; the inner one is the sandbox. Never is bubblewrap itself the
sandbox as root: root could write to /proc/sys, and limits on processes do not hold for it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from orchestrator.hands.sandbox.backend import Mount, MountKind, is_system_folder, sort_mounts
from orchestrator.hands.sandbox.program_search import SandboxPrograms

STAGING_FOLDER = "/run/stage"

WHOLE_PROC = "/run/proc"
"""Only where the host's own /proc can be seen uncovered does the kernel let the inner one mount its own."""

BUBBLEWRAP_ENVIRONMENT = {"PATH": "/usr/bin:/bin"}
"""Bubblewrap's own environment: as process 1 of the sandbox it keeps that readable there."""


@dataclass(frozen=True)
class BubblewrapLaunch:
    """One command in one sandbox. `env` is all the command sees; `cwd` and `command` are paths inside.

    `uid` and `gid` are those it has inside; outside it stays who started the sandbox. Only with
    `shares_network` does it have the host's network; else it has none but a loopback of its own.
    """

    mounts: tuple[Mount, ...]
    env: Mapping[str, str]
    cwd: str
    command: tuple[str, ...]
    shm_bytes: int
    host: str
    uid: int
    gid: int
    shares_network: bool = False


def build_bubblewrap_arguments(
    launch: BubblewrapLaunch,
    programs: SandboxPrograms,
    uid: int | None,
    info_fd: int,
    status_fd: int,
    gate_fd: int | None = None,
    filter_fd: int | None = None,
    secrets_fd: int | None = None,
) -> list[str]:
    """Return the whole command line.

    `uid` is the user to drop to when started by root, None when started by a normal user. Bubblewrap reports the first
    process of the sandbox on `info_fd`, as a pid of the caller's. On `status_fd` it reports that of the inner sandbox
    (the same if there is but one) and the end of the command, as pids of whoever starts it. The command starts when
    `gate_fd` can be read, under the filter of system calls that is read from `filter_fd`. More options are read from
    `secrets_fd`: those that anybody on the machine could read in an argument list.
    """
    mounts = sort_mounts(launch.mounts)
    numbers = {"--json-status-fd": status_fd, "--block-fd": gate_fd, "--seccomp": filter_fd, "--args": secrets_fd}
    reports = chain.from_iterable(_build_fd_option(option, number) for option, number in numbers.items())
    if uid is None:
        info = _build_fd_option("--info-fd", info_fd)
        return [programs.bwrap, *info, *_build_sandbox(launch, mounts, programs, reports)]
    private_mounts = [mount for mount in mounts if mount.is_bind_mount and not _is_public(mount)]
    staged_paths = {mount.dest: f"{STAGING_FOLDER}/{number}" for number, mount in enumerate(private_mounts)}
    staged_mounts = tuple(Mount(m.kind, m.dest, staged_paths.get(m.dest, m.source), m.size_bytes) for m in mounts)
    drop_words = (str(programs.setpriv), "--reuid", str(uid), "--regid", str(uid), "--clear-groups")
    outer = (programs.bwrap, *_build_fd_option("--info-fd", info_fd), *_build_staging(private_mounts, staged_paths))
    return [*outer, "--", *drop_words, programs.bwrap, *_build_sandbox(launch, staged_mounts, programs, reports)]


def _is_public(mount: Mount) -> bool:
    """Return True if any user can reach the source: a system directory, or a file bound from /etc."""
    return mount.source == mount.dest and (is_system_folder(Path(mount.source)) or mount.source.startswith("/etc/"))


def _build_staging(private_mounts: Iterable[Mount], staged_paths: Mapping[str, str]) -> list[str]:
    """Return the words of the outer bubblewrap, which stages what the inner one binds.

    It has the host read-only, so that nothing in a workspace can trick the inner one into writing to it.
    """
    host = ["--ro-bind", "/", "/", "--dev-bind", "/dev", "/dev", "--proc", "/proc"]
    stage = ["--tmpfs", "/run", "--dir", STAGING_FOLDER, "--bind", "/proc", WHOLE_PROC]
    binds: list[str] = []
    for m in private_mounts:
        binds.extend((_BIND[m.kind], m.source, staged_paths[m.dest]))
    return [*host, *stage, *binds, "--chdir", "/", "--unshare-pid", "--die-with-parent"]


def _build_sandbox(
    launch: BubblewrapLaunch, mounts: Iterable[Mount], programs: SandboxPrograms, reports: Iterable[str]
) -> list[str]:
    walls = ["--unshare-all", "--unshare-user", "--cap-drop", "ALL", "--die-with-parent", "--new-session"]
    if launch.shares_network:
        walls.append("--share-net")
    if programs.has_option("--disable-userns"):
        walls.append("--disable-userns")
    variables: list[str] = []
    for name, value in sorted(launch.env.items()):
        variables.extend(("--setenv", name, value))
    shm = _build_mount_words(Mount(MountKind.EMPTY, "/dev/shm", size_bytes=launch.shm_bytes), programs)
    devices = ["--dev", "/dev", *shm, "--remount-ro", "/dev"]
    system = [*devices, "--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys"]
    mount_words = chain.from_iterable(_build_mount_words(mount, programs) for mount in mounts)
    end = ["--remount-ro", "/", "--chdir", launch.cwd, *reports, "--", *launch.command]
    user = ["--uid", str(launch.uid), "--gid", str(launch.gid)]
    return [*walls, *user, "--hostname", launch.host, "--clearenv", *variables, *system, *mount_words, *end]


_BIND = {MountKind.READ_ONLY: "--ro-bind", MountKind.WRITABLE: "--bind"}


def _build_mount_words(mount: Mount, programs: SandboxPrograms) -> list[str]:
    if mount.kind == MountKind.LINK:
        return ["--symlink", mount.source, mount.dest]
    if mount.kind == MountKind.FOLDER:
        return ["--dir", mount.dest]
    if mount.kind == MountKind.EMPTY:
        size = ["--size", str(mount.size_bytes)] if mount.size_bytes and programs.has_option("--size") else []
        return [*size, "--tmpfs", mount.dest]
    return [_BIND[mount.kind], mount.source, mount.dest]


def _build_fd_option(option: str, number: int | None) -> list[str]:
    return [option, str(number)] if number is not None else []
