"""A sandbox seen from outside, through /proc: what its processes use up, and what tried to leave it."""

import contextlib
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from orchestrator.hands.limits.cpu_time import (
    CpuTimeEstimate,
    ProcessCpuTime,
    get_uptime_s,
    open_cpu_counters,
    read_cpu_counters,
)
from orchestrator.hands.limits.ipc_objects import IpcObjects, open_ipc_objects
from orchestrator.hands.limits.unlinked_files import find_unlinked_files, get_shared_memory_device, read_proc_file

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGESIZE")
_COUNTERS_BYTES = 64 * 1024
_NO_ROUTE = re.compile(rb"^Ip6OutNoRoutes\s+(\d+)", re.MULTILINE)


_PRIVATE = re.compile(rb"^(?:Pss_Anon|SwapPss):\s+(\d+) kB", re.MULTILINE)
_SHARED = re.compile(rb"^Pss_Shmem:\s+(\d+) kB", re.MULTILINE)
_SWAPPED = re.compile(rb"^VmSwap:\s+(\d+) kB", re.MULTILINE)
_HOSTS_SHARED = re.compile(rb"^Shmem:\s+(\d+) kB", re.MULTILINE)
_HOSTS_SWAP = re.compile(rb"^SwapTotal:\s+([1-9]\d*) kB", re.MULTILINE)


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

    def __init__(self, first: int, inner: int, closely: frozenset[Resource] = frozenset()) -> None:
        self._first = os.open(f"/proc/{first}", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        self._inner = "" if inner == first else f"root/proc/{inner}/"
        self._counters: tuple[int, ...] = ()
        self._is_ready = False
        self._estimate = CpuTimeEstimate()
        self._clocks = open_cpu_counters(first) if Resource.CPU in closely else ()
        self._objects = self._ipc_objects() if Resource.MEMORY in closely else IpcObjects()
        self._hosts_first = read_host_shared_bytes()
        with contextlib.suppress(OSError):  # a kernel without IPv6
            if not self._has_our_network():
                self._counters = (self._open(f"{self._inner}net/snmp"),)
                self._counters += (self._open(f"{self._inner}net/snmp6"),)

    def read_usage(self) -> SandboxUsage | None:
        """Return the usage of its processes now; None while the sandbox is being built, and when it is gone."""
        try:
            with self._processes() as place:
                stats = {name: fields for name in _numbers(place) if (fields := _stat(place, name))}
                cpu_s = self._cpu_s(place, stats)
        except OSError:
            return None
        return SandboxUsage(
            tasks=sum(int(fields[17]) for fields in stats.values()),
            cpu_s=cpu_s,
            resident_bytes=sum(int(fields[21]) for fields in stats.values()) * _PAGE_BYTES,
        )

    def _cpu_s(self, place: int, stats: dict[str, list[bytes]]) -> float:
        spent = {}
        for name, fields in stats.items():
            spent[(int(name), int(fields[19]) / _TICKS)] = _spent(place, name, fields)
        return max(self._estimate.add_sample(get_uptime_s(), spent), read_cpu_counters(self._clocks))

    def estimate_max_memory_bytes(self, resident_bytes: int) -> int:
        """Return more than all of it can have in memory, which is told fast: all that the whole host shares counts."""
        hosts = Path("/proc/meminfo").read_bytes()
        swapped = 0
        if _HOSTS_SWAP.search(hosts):
            with contextlib.suppress(OSError), self._processes() as place:
                swapped = sum(_kilobytes(_SWAPPED, read_proc_file(place, f"{name}/status")) for name in _numbers(place))
        return resident_bytes + swapped + _kilobytes(_HOSTS_SHARED, hosts) + self._objects.read_size_bytes()

    def measure_memory_bytes(self, folders: Sequence[str]) -> int:
        """Return the memory of all processes, of what they share and of what lies in directories in memory, each once.

        Where something cannot be measured, all that the host's shared memory has grown by counts as theirs.
        """
        try:
            with self._processes() as place:
                names = _numbers(place)
                rollups = [_rollup(place, name) for name in names]
                held = find_unlinked_files(place, names)
        except OSError:
            return 0
        device, objects = get_shared_memory_device(), self._objects.read_size_bytes()
        shared = objects + held.get_size_bytes(device) + sum(self.measure_tmpfs(folder)[0] for folder in folders)
        shared = max(shared, sum(rollup[1] for rollup in rollups))
        if held.has_descriptors_in_flight or device in held.unsized_devices:
            shared = max(shared, read_host_shared_bytes() - self._hosts_first)
        return sum(rollup[0] for rollup in rollups) + shared

    def measure_tmpfs(self, directory: str) -> tuple[int, int]:
        """Return bytes and files in a tmpfs directory, by its path inside; 0 while the host's is still there."""
        try:
            place = self._open(f"{self._inner}root{directory}", os.O_PATH)
        except OSError:
            return 0, 0
        try:
            if os.fstat(place).st_dev == _device(directory):
                return 0, 0
            found = os.statvfs(place)
        finally:
            os.close(place)
        return (found.f_blocks - found.f_bfree) * found.f_frsize, found.f_files - found.f_ffree

    def measure_unlinked_bytes(self, device: int, in_memory: Sequence[str]) -> tuple[int, bool]:
        """Return the bytes that processes keep on a device in unlinked files, and whether that is all of them.

        `device` is the number of the file system; `in_memory` are directories that lie in memory, not on disk.
        """
        try:
            with self._processes() as place:
                held = find_unlinked_files(place, _numbers(place))
        except OSError:
            return 0, True
        others = {get_shared_memory_device(), *(self._inner_device(folder) for folder in in_memory)}
        return held.get_size_bytes(device), not (held.has_descriptors_in_flight or held.unsized_devices - others)

    def _inner_device(self, folder: str) -> int:
        try:
            return os.stat(f"{self._inner}root{folder}", dir_fd=self._first).st_dev
        except OSError:
            return -1

    def count_stray_packets(self) -> int:
        """Count the packets sent to addresses without a route, also after all processes are dead."""
        texts = []
        for counters in self._counters:
            texts.append(os.pread(counters, _COUNTERS_BYTES, 0))
        return sum(_strays(text) for text in texts)

    def close(self) -> None:
        """Let go of it."""
        self._objects.close()
        for descriptor in (self._first, *self._counters, *self._clocks):
            os.close(descriptor)

    @contextlib.contextmanager
    def _processes(self) -> Iterator[int]:
        """Open the sandbox's own /proc. Before it is mounted, the host's stands at the same place."""
        place = self._open("root/proc", os.O_DIRECTORY)
        try:
            if not self._is_ready:
                own, there = os.stat("ns/pid", dir_fd=self._first), os.stat("1/ns/pid", dir_fd=place)
                if own.st_ino != there.st_ino:
                    raise ProcessLookupError("the sandbox is still being built")
                self._is_ready = True
            yield place
        finally:
            os.close(place)

    def _ipc_objects(self) -> IpcObjects:
        space = self._open(f"{self._inner}ns/ipc")
        try:
            return open_ipc_objects(space)
        finally:
            os.close(space)

    def _has_our_network(self) -> bool:
        there = os.stat(f"{self._inner}ns/net", dir_fd=self._first)
        return there.st_ino == Path("/proc/self/ns/net").stat().st_ino

    def _open(self, name: str, flags: int = 0) -> int:
        return os.open(name, os.O_RDONLY | os.O_CLOEXEC | flags, dir_fd=self._first)


def _device(directory: str) -> int | None:
    """Return the number of the file system that holds a directory of ours; None if there is no such directory."""
    try:
        return Path(directory).stat().st_dev
    except OSError:
        return None


def _numbers(place: int) -> list[str]:
    return [name for name in os.listdir(place) if name.isdigit()]


def _stat(place: int, name: str) -> list[bytes]:
    """Return the fields of a process's `stat` from its state on; none if it is gone."""
    return read_proc_file(place, f"{name}/stat").rpartition(b")")[2].split()


def _spent(place: int, name: str, fields: list[bytes]) -> ProcessCpuTime:
    user, system, childrens_user, childrens_system = map(int, fields[11:15])
    if fields[0] == b"R":
        share = _run_share(read_proc_file(place, f"{name}/schedstat"))
    else:
        share = 0.0
    return ProcessCpuTime((user + system) / _TICKS, (childrens_user + childrens_system) / _TICKS, share)


def _run_share(text: bytes) -> float:
    """Return the share of a process's time that it ran, from its running time and its waiting time."""
    ran, waited, *_ = (*map(int, text.split()), 0, 0)
    if ran:
        return ran / (ran + waited)
    return 0.0


def _rollup(place: int, name: str) -> tuple[int, int]:
    """Return a process's private bytes and its part of shared ones, without pages of files that can be read again."""
    text = read_proc_file(place, f"{name}/smaps_rollup")
    if _PRIVATE.search(text):
        return _kilobytes(_PRIVATE, text), _kilobytes(_SHARED, text)
    fields = _stat(place, name)  # a process that hides itself is counted in full
    return int(fields[21]) * _PAGE_BYTES if fields else 0, 0


def _kilobytes(pattern: re.Pattern[bytes], text: bytes) -> int:
    """Return the sum of all numbers that a pattern finds, in bytes."""
    return sum(map(int, pattern.findall(text))) * 1024


def read_host_shared_bytes() -> int:
    """Return what the whole host has in shared memory and in file systems in memory."""
    return _kilobytes(_HOSTS_SHARED, Path("/proc/meminfo").read_bytes())


def _strays(text: bytes) -> int:
    """Return the count of packets without a route from /proc/net/snmp (names, then numbers) or snmp6."""
    lines = []
    for line in text.splitlines():
        if line.startswith(b"Ip:"):
            lines.append(line.split())
    if len(lines) == 2:
        return int(dict(zip(*lines, strict=True)).get(b"OutNoRoutes", 0))
    found = _NO_ROUTE.search(text)
    if found:
        return int(found[1])
    return 0
