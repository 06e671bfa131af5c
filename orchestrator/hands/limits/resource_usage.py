"""Reads the usage of a sandbox from outside, through /proc: its processes' CPU time and memory, and stray packets."""

import contextlib
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path

from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.hands.limits import cpu_time
from orchestrator.hands.limits.ipc_objects import IpcObjects, open_ipc_objects
from orchestrator.hands.limits.unlinked_files import find_unlinked_files, get_shared_memory_device, read_proc_file
from worktrees.safety.descriptors import hold_descriptor

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGESIZE")
_COUNTERS_BYTES = 64 * 1024
_NO_ROUTE = compile_lazily(rb"^Ip6OutNoRoutes\s+(\d+)", re.MULTILINE)


_PRIVATE = compile_lazily(rb"^(?:Pss_Anon|SwapPss):\s+(\d+) kB", re.MULTILINE)
_SHARED = compile_lazily(rb"^Pss_Shmem:\s+(\d+) kB", re.MULTILINE)
_SWAPPED = compile_lazily(rb"^VmSwap:\s+(\d+) kB", re.MULTILINE)
_HOSTS_SHARED = compile_lazily(rb"^Shmem:\s+(\d+) kB", re.MULTILINE)
_HOSTS_SWAP = compile_lazily(rb"^SwapTotal:\s+([1-9]\d*) kB", re.MULTILINE)


class Resource(StrEnum):
    """A resource that is watched closely, because nothing else holds its limit."""

    CPU = "cpu"
    MEMORY = "memory"


@dataclass(frozen=True)
class SandboxUsage:
    """Usage of all processes of a sandbox. `tasks` counts threads; `cpu_s` includes processes that ended.

    `resident_bytes` counts a page once for each process that has it.
    """

    tasks: int
    cpu_s: float
    resident_bytes: int


class UsageReader:
    """Reads the usage of a live sandbox by descriptors, so never that of a process which got the same number later.

    `first` is the sandbox's outermost process, `inner` the first one of the inner sandbox, as numbered by whoever
    started it: the same if there is but one sandbox. The resources in `closely_watched` must be followed from before
    the command starts. Blocks. Ends with `close`.

    Raises:
        OSError: it is gone already, or the host does not let us look.
    """

    def __init__(self, first: int, inner: int, closely_watched: frozenset[Resource] = frozenset()) -> None:
        self._first = os.open(f"/proc/{first}", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        self._inner = "" if inner == first else f"root/proc/{inner}/"
        self._counters: tuple[int, ...] = ()
        self._is_ready = False
        self._estimate = cpu_time.CpuTimeEstimate()
        self._clocks = cpu_time.open_cpu_counters(first) if Resource.CPU in closely_watched else ()
        self._objects = IpcObjects()
        self._hosts_first = 0
        if Resource.MEMORY in closely_watched:
            with hold_descriptor(self._open(f"{self._inner}ns/ipc")) as space:
                self._objects = open_ipc_objects(space)
            self._hosts_first = read_host_shared_bytes()
        with contextlib.suppress(OSError):  # a kernel without IPv6
            if not self._has_host_network():
                self._counters = (self._open(f"{self._inner}net/snmp"),)
                self._counters += (self._open(f"{self._inner}net/snmp6"),)

    def read_usage(self) -> SandboxUsage | None:
        """Return the usage of its processes now; None while the sandbox is being built, and when it is gone."""
        try:
            with self._open_processes() as proc:
                stats = {name: fields for name in _list_processes(proc) if (fields := _read_stat(proc, name))}
                cpu_s = self._measure_cpu_s(proc, stats)
        except OSError:
            return None
        return SandboxUsage(
            tasks=sum(int(fields[17]) for fields in stats.values()),
            cpu_s=cpu_s,
            resident_bytes=sum(int(fields[21]) for fields in stats.values()) * _PAGE_BYTES,
        )

    def _measure_cpu_s(self, proc: int, stats: dict[str, list[bytes]]) -> float:
        spent = {}
        for name, fields in stats.items():
            spent[(int(name), int(fields[19]) / _TICKS)] = _read_cpu_time(proc, name, fields)
        return max(self._estimate.add_sample(cpu_time.get_uptime_s(), spent), cpu_time.read_cpu_counters(self._clocks))

    def estimate_max_memory_bytes(self, resident_bytes: int) -> int:
        """Return a quick upper bound of its memory, which counts all that the whole host shares."""
        hosts = Path("/proc/meminfo").read_bytes()
        swapped = 0
        if _HOSTS_SWAP.search(hosts):
            with contextlib.suppress(OSError), self._open_processes() as proc:
                statuses = (read_proc_file(proc, f"{name}/status") for name in _list_processes(proc))
                swapped = sum(_sum_kilobytes(_SWAPPED, status) for status in statuses)
        return resident_bytes + swapped + _sum_kilobytes(_HOSTS_SHARED, hosts) + self._objects.read_size_bytes()

    def measure_memory_bytes(self, folders: Sequence[str]) -> int:
        """Return the memory of all processes, of what they share and of what lies in directories in memory, each once.

        Where something cannot be measured, all that the host's shared memory has grown by counts as theirs.
        """
        try:
            with self._open_processes() as proc:
                names = _list_processes(proc)
                rollups = [_read_memory(proc, name) for name in names]
                unlinked = find_unlinked_files(proc, names)
        except OSError:
            return 0
        device, objects = get_shared_memory_device(), self._objects.read_size_bytes()
        shared = objects + unlinked.get_size_bytes(device) + sum(self.measure_tmpfs(folder)[0] for folder in folders)
        shared = max(shared, sum(rollup[1] for rollup in rollups))
        if unlinked.has_descriptors_in_flight or device in unlinked.unsized_devices:
            shared = max(shared, read_host_shared_bytes() - self._hosts_first)
        return sum(rollup[0] for rollup in rollups) + shared

    def measure_tmpfs(self, directory: str) -> tuple[int, int]:
        """Return bytes and files in a tmpfs directory, by its path inside; 0 while the host's is still there."""
        try:
            proc = self._open(f"{self._inner}root{directory}", os.O_PATH)
        except OSError:
            return 0, 0
        with hold_descriptor(proc):
            if os.fstat(proc).st_dev == _get_device(directory):
                return 0, 0
            found = os.statvfs(proc)
        return (found.f_blocks - found.f_bfree) * found.f_frsize, found.f_files - found.f_ffree

    def measure_unlinked_bytes(self, device: int, in_memory: Sequence[str]) -> tuple[int, bool]:
        """Return the bytes that processes keep on a device in unlinked files, and whether that is all of them.

        `device` is the number of the file system; `in_memory` are directories that lie in memory, not on disk.
        """
        try:
            with self._open_processes() as proc:
                unlinked = find_unlinked_files(proc, _list_processes(proc))
        except OSError:
            return 0, True
        inner_devices = (_get_device(f"{self._inner}root{folder}", self._first) for folder in in_memory)
        other_devices = {get_shared_memory_device(), *inner_devices}
        unknown_devices = unlinked.unsized_devices - other_devices
        return unlinked.get_size_bytes(device), not (unlinked.has_descriptors_in_flight or unknown_devices)

    def count_stray_packets(self) -> int:
        """Count the packets sent to addresses without a route, also after all processes are dead."""
        return sum(_parse_stray_packets(os.pread(file, _COUNTERS_BYTES, 0)) for file in self._counters)

    def close(self) -> None:
        """Close all descriptors."""
        self._objects.close()
        for descriptor in (self._first, *self._counters, *self._clocks):
            os.close(descriptor)

    @contextlib.contextmanager
    def _open_processes(self) -> Iterator[int]:
        """Open the sandbox's own /proc. Before it is mounted, the host's stands at the same place."""
        with hold_descriptor(self._open("root/proc", os.O_DIRECTORY)) as proc:
            if not self._is_ready:
                outside, inside = os.stat("ns/pid", dir_fd=self._first), os.stat("1/ns/pid", dir_fd=proc)
                if outside.st_ino != inside.st_ino:
                    raise ProcessLookupError("the sandbox is still being built")
                self._is_ready = True
            yield proc

    def _has_host_network(self) -> bool:
        return os.stat(f"{self._inner}ns/net", dir_fd=self._first).st_ino == _get_own_network()

    def _open(self, name: str, flags: int = 0) -> int:
        return os.open(name, os.O_RDONLY | os.O_CLOEXEC | flags, dir_fd=self._first)


@cache
def _get_own_network() -> int:
    """Return the number of this process's network namespace, which it never leaves."""
    return Path("/proc/self/ns/net").stat().st_ino


def _get_device(directory: str, opened: int | None = None) -> int | None:
    """Return the number of the file system that holds a directory, below `opened`; None if there is no such one."""
    try:
        return os.stat(directory, dir_fd=opened).st_dev
    except OSError:
        return None


def _list_processes(proc: int) -> list[str]:
    return [name for name in os.listdir(proc) if name.isdigit()]


def _read_stat(proc: int, name: str) -> list[bytes]:
    """Return the fields of a process's `stat` from its state on; none if it is gone."""
    return read_proc_file(proc, f"{name}/stat").rpartition(b")")[2].split()


def _read_cpu_time(proc: int, name: str, fields: list[bytes]) -> cpu_time.ProcessCpuTime:
    user, system, childrens_user, childrens_system = map(int, fields[11:15])
    if fields[0] == b"R":
        share = _compute_run_share(read_proc_file(proc, f"{name}/schedstat"))
    else:
        share = 0.0
    return cpu_time.ProcessCpuTime((user + system) / _TICKS, (childrens_user + childrens_system) / _TICKS, share)


def _compute_run_share(text: bytes) -> float:
    """Return the share of a process's time that it ran, from its running time and its waiting time."""
    ran, waited, *_ = (*map(int, text.split()), 0, 0)
    return ran / (ran + waited) if ran else 0.0


def _read_memory(proc: int, name: str) -> tuple[int, int]:
    """Return a process's private bytes and its part of shared ones, without pages of files that can be read again."""
    text = read_proc_file(proc, f"{name}/smaps_rollup")
    if _PRIVATE.search(text):
        return _sum_kilobytes(_PRIVATE, text), _sum_kilobytes(_SHARED, text)
    fields = _read_stat(proc, name)  # a process that hides itself is counted in full
    return int(fields[21]) * _PAGE_BYTES if fields else 0, 0


def _sum_kilobytes(pattern: re.Pattern[bytes], text: bytes) -> int:
    """Return the sum of all numbers that a pattern finds, in bytes."""
    return sum(map(int, pattern.findall(text))) * 1024


def read_host_shared_bytes() -> int:
    """Return what the whole host has in shared memory and in file systems in memory."""
    return _sum_kilobytes(_HOSTS_SHARED, Path("/proc/meminfo").read_bytes())


def _parse_stray_packets(text: bytes) -> int:
    """Return the count of packets without a route from /proc/net/snmp (names, then numbers) or snmp6."""
    lines = [line.split() for line in text.splitlines() if line.startswith(b"Ip:")]
    if len(lines) == 2:
        return int(dict(zip(*lines, strict=True)).get(b"OutNoRoutes", 0))
    found = _NO_ROUTE.search(text)
    return int(found[1]) if found else 0
