"""CPU time of a sandbox with all processes that ever ran in it, where no control group counts it.

The kernel hands a process's time to whoever waits for it. Of processes that nobody waits for (SIGCHLD is ignored)
nothing is left in /proc. Where the kernel lets us, counters of its performance monitor follow every process from its
start and are exact. Elsewhere what disappears is estimated from samples.
"""

import contextlib
import ctypes
import os
import platform
import struct
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

_CALL = {"x86_64": 298, "aarch64": 241}
"""The number of perf_event_open, which the C library has no function for."""

_SOFTWARE, _TASK_CLOCK, _SIZE = 1, 1, 64  # PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, of the first version
_INHERIT, _NO_KERNEL, _NO_HYPERVISOR = 1 << 1, 1 << 5, 1 << 6
_CLOSE_ON_EXEC = 8

ProcessKey = tuple[int, float]
"""A process: its number, and when it was started, in seconds since the machine was."""


@dataclass(frozen=True)
class ProcessCpuTime:
    """CPU seconds of one process: its own, and those of its children that were waited for.

    `run_share` is the time it ran divided by the time it was ready to run; 0 if it sleeps or has ended.
    """

    own_s: float
    children_s: float
    run_share: float = 0.0


@dataclass
class CpuTimeEstimate:
    """Estimates CPU time from samples of all processes.

    `missing_s` is the time of processes that vanished without a parent taking it over. `inherited_s` is the time that
    parents took over. `unseen_s` assumes that a process which began since the last sample had others like it before it.
    """

    last_sample: Mapping[ProcessKey, ProcessCpuTime] = field(default_factory=dict)
    last_sample_at: float | None = None
    missing_s: float = 0.0
    unseen_s: float = 0.0
    inherited_s: float = 0.0

    def add_sample(self, now: float, spent: Mapping[ProcessKey, ProcessCpuTime]) -> float:
        """Add a sample of live processes at `now`, in seconds since the machine started; return the total."""
        inherited = sum(spent[key].children_s - old.children_s for key, old in self.last_sample.items() if key in spent)
        vanished = sum(old.own_s + old.children_s for key, old in self.last_sample.items() if key not in spent)
        self.missing_s = max(0.0, self.missing_s + vanished - inherited)
        self.inherited_s += inherited
        if self.last_sample_at is not None:
            ages = ((key[1] - self.last_sample_at, process) for key, process in spent.items())
            self.unseen_s += sum(max(0.0, age_s) * process.run_share for age_s, process in ages)
        self.last_sample, self.last_sample_at = spent, now
        total = sum(process.own_s + process.children_s for process in spent.values())
        return total + max(self.missing_s, self.unseen_s - self.inherited_s)


def get_uptime_s() -> float:
    """Return the seconds since the machine started, by the clock that processes' starts are told in."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def open_cpu_counters(first: int) -> tuple[int, ...]:
    """Return descriptors that count the CPU time of a process, its children and whatever they will start.

    Empty where the kernel, its settings or another wall forbid it.
    """
    opened: list[int] = []
    try:
        opened.extend(map(_open_counter, (first, *_iterate_children(first))))
    except OSError:
        for counter in opened:
            os.close(counter)
        return ()
    return tuple(opened)


def read_cpu_counters(counters: Iterable[int]) -> float:
    """Return the seconds that such descriptors have counted together."""
    return float(sum(struct.unpack("=Q", os.read(counter, 8))[0] for counter in counters)) / 1e9


def _open_counter(pid: int) -> int:
    call = _CALL.get(platform.machine())
    if call is None:
        raise OSError("the number of perf_event_open on this machine is not known")
    flags = _INHERIT | _NO_KERNEL | _NO_HYPERVISOR
    attributes = struct.pack("=IIQQQQQ16x", _SOFTWARE, _SIZE, _TASK_CLOCK, 0, 0, 0, flags)
    library = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(attributes, _SIZE)
    arguments = map(ctypes.c_long, (pid, -1, -1, _CLOSE_ON_EXEC))
    opened = int(library.syscall(ctypes.c_long(call), buffer, *arguments))
    if opened < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return opened


def _iterate_children(pid: int) -> Iterator[int]:
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended
        for child in map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()):
            yield child
            yield from _iterate_children(child)
