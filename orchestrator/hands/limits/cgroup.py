"""Control groups, where the host lets us make some: the kernel then holds memory and counts CPU time by itself.

With version 2 that is a session of a user under systemd, or root; with version 1, root. Anywhere else the watchdog
holds the limits alone.
"""

import contextlib
import itertools
import os
import re
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestrator.hands.limits.rlimits import has_namespaced_process_limit
from orchestrator.hands.policy import CommandLimits

_NAME = "orchestrate"
_OWN_TASKS = 16
"""Processes that bubblewrap and its like add to those of a command."""

_ENTER = 'for group in $1; do echo 0 > "$group/cgroup.procs" || exit; done; shift; exec "$@"'
_LEAVING_S = 0.5
_group_numbers = itertools.count(1)


@dataclass(frozen=True)
class ControlGroup:
    """The folders of one command's group: one for all, or (version 1) one for each controller."""

    folders: tuple[Path, ...]

    def wrap_command(self, words: Sequence[str]) -> list[str]:
        """Return the command line that enters the group first, with everything it starts."""
        return ["/bin/sh", "-c", _ENTER, "enter", " ".join(map(str, self.folders)), *words]

    def read_cpu_s(self) -> float:
        """Return the CPU time of all processes that ever ran in the group."""
        if nanoseconds := self._read_number("cpuacct.usage", rb"^(\d+)"):
            return nanoseconds / 1e9
        return self._read_number("cpu.stat", rb"^usage_usec (\d+)") / 1e6

    def has_oom_kill(self) -> bool:
        """Return True if the kernel killed a process of the group for lack of memory."""
        events = rb"^oom_kill (\d+)"
        return self._read_number("memory.oom_control", events) + self._read_number("memory.events", events) > 0

    def remove_group(self) -> None:
        """Remove the group; what cannot be removed now, our next process removes."""
        deadline = time.monotonic() + _LEAVING_S
        for folder in self.folders:
            while not _try_remove(folder) and time.monotonic() < deadline:
                time.sleep(0.002)

    def _read_number(self, name: str, pattern: bytes) -> int:
        for folder in self.folders:
            with contextlib.suppress(OSError):
                found = re.search(pattern, (folder / name).read_bytes(), re.MULTILINE)
                return int(found[1]) if found else 0
        return 0


@dataclass(frozen=True)
class ControlGroupParent:
    """A place where groups can be made.

    `parent_folders` are the kernel's directories, for one `version` of its interface.
    """

    version: int
    parent_folders: tuple[Path, ...]

    def create_group(self, limits: CommandLimits) -> ControlGroup:
        """Create a group with these limits.

        Raises:
            OSError: the host does not let us.
        """
        name = f"{_NAME}-{os.getpid()}-{next(_group_numbers)}"
        group = ControlGroup(tuple(parent / name for parent in self.parent_folders))
        try:
            for folder in group.folders:
                folder.mkdir()
            for name, value in _list_settings(limits):
                _write_setting(group.folders, name, value)
        except OSError:
            group.remove_group()
            raise
        return group

    def can_enter_group(self) -> bool:
        """Return True if a process can really be put into a group here. Blocks."""
        try:
            group = self.create_group(CommandLimits(memory_bytes=64 * 1024**2))
        except OSError:
            return False
        try:
            completed = subprocess.run(group.wrap_command(["true"]), check=False, capture_output=True, cwd="/", env={})
            return completed.returncode == 0
        finally:
            group.remove_group()

    def remove_stale_groups(self) -> None:
        """Remove the groups of our processes that were killed."""
        for parent in self.parent_folders:
            for folder in parent.glob(f"{_NAME}-*-*"):
                pid = folder.name.split("-")[1]
                if not Path("/proc", pid).exists():
                    _try_remove(folder)


def needs_control_group(limits: CommandLimits) -> bool:
    """Return True if there is a limit that a group holds better than anything else."""
    return limits.memory_bytes is not None or limits.cpu_s is not None or not has_namespaced_process_limit()


def find_group_parent(mounts: str, own_groups: str) -> ControlGroupParent | None:
    """Return where this process may make groups, by its `mountinfo` and `cgroup` in /proc; None if nowhere."""
    paths = {}
    for _, names, path in (line.split(":", 2) for line in own_groups.splitlines()):
        paths[names] = path
    unified, separate = _find_unified_folder(mounts, paths), tuple(_find_controller_folders(mounts, paths))
    if unified:
        return ControlGroupParent(2, (unified,))
    if len(separate) == len(_CONTROLLERS):
        return ControlGroupParent(1, separate)
    return None


def load_group_parent() -> ControlGroupParent | None:
    """Return where this process may make groups, after removing those of dead processes. Blocks."""
    proc = Path("/proc/self")
    try:
        found = find_group_parent(*((proc / name).read_text(encoding="utf-8") for name in ("mountinfo", "cgroup")))
    except (OSError, ValueError):
        return None
    if found:
        found.remove_stale_groups()
    return found


def find_usable_group_parent(limits: CommandLimits) -> ControlGroupParent | None:
    """Return where groups with such limits can be made, tried for real; None if none is needed or possible. Blocks."""
    found = load_group_parent()
    return found if found and needs_control_group(limits) and found.can_enter_group() else None


_CONTROLLERS = ("memory", "pids", "cpuacct")


def _find_unified_folder(mounts: str, paths: dict[str, str]) -> Path | None:
    """Return the nearest group above us that passes memory and processes down and is ours to divide (version 2)."""
    for root, mount_point, kind, _ in _parse_mounts(mounts):
        if kind == "cgroup2":
            own_group = _get_group_folder(mount_point, root, paths.get("", "/"))
            chain = [own_group, *(parent for parent in own_group.parents if parent.is_relative_to(mount_point))]
            return next((group for group in chain if _delegates_controllers(group) and _is_writable(group)), None)
    return None


def _find_controller_folders(mounts: str, paths: dict[str, str]) -> Iterator[Path]:
    """Yield our own group of each controller (version 1)."""
    by_controller = {}
    for names, path in paths.items():
        for name in names.split(","):
            by_controller[name] = path
    for controller in _CONTROLLERS:
        for root, mount_point, kind, options in _parse_mounts(mounts):
            if kind == "cgroup" and controller in options:
                own_group = _get_group_folder(mount_point, root, by_controller.get(controller, "/"))
                if _is_writable(own_group):
                    yield own_group


def _parse_mounts(mounts: str) -> Iterator[tuple[str, Path, str, list[str]]]:
    """Yield root, place, kind and options of everything mounted."""
    for line in mounts.splitlines():
        words, rest = (part.split() for part in line.split(" - ", 1))
        yield words[3], Path(words[4]), rest[0], rest[2].split(",")


def _get_group_folder(mount_point: Path, root: str, path: str) -> Path:
    inside = path.removeprefix(root.rstrip("/")).lstrip("/")
    return mount_point / inside if (mount_point / inside).is_dir() else mount_point


def _delegates_controllers(folder: Path) -> bool:
    try:
        names = (folder / "cgroup.subtree_control").read_text(encoding="ascii").split()
    except OSError:
        return False
    return {"memory", "pids"} <= set(names)


def _is_writable(folder: Path) -> bool:
    return os.access(folder, os.W_OK) and os.access(folder / "cgroup.procs", os.W_OK)


def _list_settings(limits: CommandLimits) -> Iterator[tuple[str, int]]:
    yield "pids.max", limits.processes + _OWN_TASKS
    if limits.memory_bytes is not None:
        yield "memory.limit_in_bytes", limits.memory_bytes
        yield "memory.memsw.limit_in_bytes", limits.memory_bytes
        yield "memory.max", limits.memory_bytes
        yield "memory.swap.max", 0
        yield "memory.oom.group", 1


def _write_setting(folders: Sequence[Path], name: str, value: int) -> None:
    """Write a setting where there is one of this name: it depends on version and kernel."""
    for file in (folder / name for folder in folders):
        if file.exists():
            file.write_text(str(value), encoding="ascii")


def _try_remove(folder: Path) -> bool:
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
