"""The command lines that start a container. Pure: what stands on the host is decided by the caller."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from orchestrator.domain.sandbox.world import World
from orchestrator.hands.policy import CommandLimits
from orchestrator.hands.sandbox.backend import Mount, MountKind, sort_mounts

CONTROL_FOLDER = "/run/control"
"""The folder inside from which the harness can be called; nothing answers there once a container is up."""

CONTROL_SOCKET = "socket"
STATE_LABEL, SESSION_LABEL = "orchestrate.state", "orchestrate.session"
_OOM_SCORE = 800


@dataclass(frozen=True)
class ContainerLaunch:
    """A container to be started: its name, its labels, its mounts and its world.

    `root` names its root file system to the engine. `files` is the host directory for files that are handed back,
    `control` the one with our socket. `supported_limits` names the limits that the engine can put on it as a whole.
    """

    name: str
    labels: dict[str, str]
    root: tuple[str, ...]
    mounts: tuple[Mount, ...]
    files: str
    control: str
    world: World
    limits: CommandLimits
    python: str
    script: str
    seccomp: str | None
    supported_limits: frozenset[str]
    hard_processes: int


def build_run_arguments(launch: ContainerLaunch, is_podman: bool) -> list[str]:
    """Return the words after the engine's name. Raises OSError if a path cannot be put into words."""
    files = Mount(MountKind.WRITABLE, launch.world.exchange, launch.files)
    control = Mount(MountKind.READ_ONLY, CONTROL_FOLDER, launch.control)
    mounts = sort_mounts((*launch.mounts, files, control))
    labels = (("--label", f"{name}={value}") for name, value in launch.labels.items())
    mount_options = (_build_mount_options(mount, is_podman) for mount in mounts)
    return [
        *("run", "--detach", "--rm", "--name", launch.name, "--hostname", launch.world.host),
        *chain.from_iterable(labels),
        *_list_wall_options(launch, is_podman),
        *_list_limit_options(launch),
        *chain.from_iterable(mount_options),
        *("--user", f"{launch.world.uid}:{launch.world.gid}", "--workdir", "/", *launch.root),
        *(launch.python, "-I", "-S", "-X", "utf8", "-c", launch.script, _encode_init_settings(launch, mounts)),
    ]


def _list_wall_options(launch: ContainerLaunch, is_podman: bool) -> Iterable[str]:
    yield from ("--network", "none", "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--read-only")
    yield from ("--ipc", "private", "--log-driver", "none", "--pull", "never", "--oom-score-adj", str(_OOM_SCORE))
    if launch.seccomp:
        yield from ("--security-opt", f"seccomp={launch.seccomp}")
    if is_podman:
        yield from ("--security-opt", "mask=/sys", "--read-only-tmpfs=false", "--passwd=false", "--no-hosts")
        yield from ("--http-proxy=false", "--systemd", "false", "--stop-timeout", "0")


def _list_limit_options(launch: ContainerLaunch) -> Iterable[str]:
    limits = launch.limits
    yield from ("--ulimit", f"nofile={limits.open_files}:{limits.open_files}", "--ulimit", "core=0:0")
    yield from ("--ulimit", f"nproc={launch.hard_processes}:{launch.hard_processes}")
    yield from ("--shm-size", str(limits.tmpfs_bytes))
    if "pids" in launch.supported_limits:
        yield from ("--pids-limit", str(limits.processes))
    if "memory" in launch.supported_limits and limits.memory_bytes:
        yield from ("--memory", str(limits.memory_bytes), "--memory-swap", str(limits.memory_bytes))


def _build_mount_options(mount: Mount, is_podman: bool) -> Sequence[str]:
    if mount.kind == MountKind.LINK:
        return ()  # they are part of the root
    if mount.kind == MountKind.EMPTY:
        options = f"rw,exec,nosuid,nodev,size={mount.size_bytes},mode=1777"
        return "--tmpfs", f"{mount.dest}:{options}{',notmpcopyup' if is_podman else ''}"
    access = "ro" if mount.kind == MountKind.READ_ONLY else "rw"
    if not set(',"') & set(mount.source + mount.dest):
        spec = f"type=bind,source={mount.source},target={mount.dest},bind-nonrecursive=true"
        return "--mount", spec + (",readonly" if access == "ro" else "")
    if ":" in mount.source + mount.dest:
        raise OSError(f"{mount.source} cannot be bound into a container: its name has both commas and colons")
    return "--volume", f"{mount.source}:{mount.dest}:{access}"


def _encode_init_settings(launch: ContainerLaunch, mounts: Iterable[Mount]) -> str:
    scratch_folders = [*(m.dest for m in mounts if m.kind == MountKind.EMPTY and m.size_bytes > 4096), "/dev/shm"]
    control = f"{CONTROL_FOLDER}/{CONTROL_SOCKET}"
    return json.dumps({"control": control, "passing": scratch_folders, "handed": [launch.world.exchange]})
