"""A sandbox seen from outside, through /proc: what its processes use up, and what tried to leave it."""

import contextlib
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGESIZE")
_STAT_BYTES = 4096
_BLOCK_BYTES = 512
_COUNTERS_BYTES = 64 * 1024
_NO_ROUTE = re.compile(rb"^Ip6OutNoRoutes\s+(\d+)", re.MULTILINE)


@dataclass(frozen=True)
class Usage:
    """What all processes of a sandbox use together. `tasks` counts threads; `cpu_s` includes processes that ended.

    `resident_bytes` counts a page once for each process that has it.
    """

    tasks: int
    cpu_s: float
    resident_bytes: int


class View:
    """A living sandbox, by descriptors: nothing read here can be of another process that got the same number.

    `first` is its outermost process of its own, `inner` the first one of the inner sandbox, as numbered by whom
    started it: the same one if there is but one sandbox. Ends with `close`.

    Raises:
        OSError: it is gone already, or the host does not let us look.
    """

    def __init__(self, first: int, inner: int) -> None:
        self._first = os.open(f"/proc/{first}", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        self._inner = "" if inner == first else f"root/proc/{inner}/"
        self._counters: tuple[int, ...] = ()
        self._is_ready = False
        with contextlib.suppress(OSError):  # a kernel without IPv6
            if not self._has_our_network():
                self._counters = (self._open(f"{self._inner}net/snmp"),)
                self._counters += (self._open(f"{self._inner}net/snmp6"),)

    def usage(self) -> Usage | None:
        """What its processes use now; None while it is being built, and when it is gone."""
        try:
            with self._processes() as place:
                stats = [fields for name in _numbers(place) if (fields := _stat(place, name))]
        except OSError:
            return None
        return Usage(
            tasks=sum(int(fields[17]) for fields in stats),
            cpu_s=sum(int(ticks) for fields in stats for ticks in fields[11:15]) / _TICKS,
            resident_bytes=sum(int(fields[21]) for fields in stats) * _PAGE_BYTES,
        )

    def memory_bytes(self) -> int:
        """The memory of all processes, with a page that many have counted once; slower than `usage`."""
        try:
            with self._processes() as place:
                return sum(_proportional(place, name) for name in _numbers(place))
        except OSError:
            return 0

    def in_memory(self, directory: str) -> tuple[int, int]:
        """Bytes and files that lie in a directory in memory, by its path inside; none while ours still stands there."""
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

    def unlinked_bytes(self, device: int) -> int:
        """What files hold on disk that its processes have open and that have no name any more, where walks miss them.

        `device` is the number of the file system that is asked about.
        """
        try:
            with self._processes() as place:
                sizes = {number: size for name in _numbers(place) for number, size in _unlinked(place, name, device)}
        except OSError:
            return 0
        return sum(sizes.values())

    def stray_packets(self) -> int:
        """How often something inside sent to an address for which it has no network; also when all of it is dead."""
        texts = [os.pread(counters, _COUNTERS_BYTES, 0) for counters in self._counters]
        return sum(_strays(text) for text in texts)

    def close(self) -> None:
        """Let go of it."""
        for descriptor in (self._first, *self._counters):
            os.close(descriptor)

    @contextlib.contextmanager
    def _processes(self) -> Iterator[int]:
        """Its own /proc. Before that is mounted there, ours stands at the same place."""
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

    def _has_our_network(self) -> bool:
        there = os.stat(f"{self._inner}ns/net", dir_fd=self._first)
        return there.st_ino == Path("/proc/self/ns/net").stat().st_ino

    def _open(self, name: str, flags: int = 0) -> int:
        return os.open(name, os.O_RDONLY | os.O_CLOEXEC | flags, dir_fd=self._first)


def _device(directory: str) -> int | None:
    """The number of the file system that holds a directory of ours; None if we have no such directory."""
    try:
        return Path(directory).stat().st_dev
    except OSError:
        return None


def _numbers(place: int) -> list[str]:
    return [name for name in os.listdir(place) if name.isdigit()]


def _stat(place: int, name: str) -> list[bytes]:
    """The fields of a process's `stat` from its state on; none if it is gone."""
    return _content(place, f"{name}/stat").rpartition(b")")[2].split()


def _unlinked(place: int, name: str, device: int) -> Iterator[tuple[int, int]]:
    """Number and bytes of such files; each thread is asked, as it may have descriptors of its own."""
    with contextlib.suppress(OSError):  # it has ended
        for thread in _names(place, f"{name}/task"):
            for number in _names(place, f"{name}/task/{thread}/fd"):
                with contextlib.suppress(OSError):  # closed meanwhile
                    found = os.stat(f"{name}/task/{thread}/fd/{number}", dir_fd=place)
                    if stat.S_ISREG(found.st_mode) and not found.st_nlink and found.st_dev == device:
                        yield found.st_ino, found.st_blocks * _BLOCK_BYTES


def _names(place: int, folder: str) -> list[str]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=place)
    try:
        with os.scandir(descriptor) as entries:
            return [entry.name for entry in entries]
    finally:
        os.close(descriptor)


def _proportional(place: int, name: str) -> int:
    found = re.search(rb"^Pss:\s+(\d+) kB", _content(place, f"{name}/smaps_rollup"), re.MULTILINE)
    if found:
        return int(found[1]) * 1024
    fields = _stat(place, name)  # a process that hides itself is counted in full
    return int(fields[21]) * _PAGE_BYTES if fields else 0


def _content(place: int, name: str) -> bytes:
    try:
        file = os.open(name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=place)
    except OSError:
        return b""
    try:
        return os.read(file, _STAT_BYTES)
    except OSError:
        return b""
    finally:
        os.close(file)


def _strays(text: bytes) -> int:
    """The counter of packets without a route, in the form of /proc/net/snmp (names, then numbers) or of snmp6."""
    lines = [line.split() for line in text.splitlines() if line.startswith(b"Ip:")]
    if len(lines) == 2:
        return int(dict(zip(*lines, strict=True)).get(b"OutNoRoutes", 0))
    found = _NO_ROUTE.search(text)
    return int(found[1]) if found else 0
