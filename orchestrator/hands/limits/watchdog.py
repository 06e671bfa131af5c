"""Watches a command with everything it started, a few times a second, for use beyond its limits.

What the kernel can hold by itself it holds: processes and open files by resource limits, memory and CPU time by
control groups where there are some. The first look comes after a moment, so that a short command pays nothing.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import anyio
from anyio import from_thread, to_thread

from orchestrator.hands.limits.cgroup import ControlGroup
from orchestrator.hands.limits.disk_usage import DiskUsageMeter
from orchestrator.hands.limits.resource_usage import Resource, SandboxUsage, UsageReader
from orchestrator.hands.limits.rlimits import has_namespaced_process_limit
from orchestrator.hands.policy import CommandLimits

_PAUSE_S = 0.1
_REST = 20
"""Rest this many times as long as a look took: five percent of a core at most."""
_MIB = 1024**2


@dataclass(frozen=True)
class ResourceBounds:
    """Bounds on what a command may use up.

    `writable_folders` are the host directories it can write to, `tmpfs_folders` those in memory.
    """

    limits: CommandLimits
    writable_folders: tuple[Path, ...]
    tmpfs_folders: tuple[str, ...] = ()
    group: ControlGroup | None = None

    @property
    def closely_watched(self) -> frozenset[Resource]:
        """The resources with a limit that no control group holds."""
        limits = {Resource.CPU: self.limits.cpu_s, Resource.MEMORY: self.limits.memory_bytes}
        return frozenset(resource for resource, limit in limits.items() if limit is not None and self.group is None)

    def wrap_command(self, words: list[str]) -> list[str]:
        """Return the command line, entering the control group if there is one."""
        return self.group.wrap_command(words) if self.group else words

    def format_oom_kill(self) -> str:
        """Return in words why the kernel killed the command or a part of it; "" if it did not."""
        return _format_memory(self.limits) if self.group and self.group.has_oom_kill() else ""


async def wait_for_violation(usage_reader: UsageReader | None, bounds: ResourceBounds) -> str:
    """Wait until the command exceeds a limit; return which, in words. Without a `usage_reader` only disk is checked."""
    limits = bounds.limits
    disk = DiskUsageMeter(bounds.writable_folders, limits.disk_bytes, limits.files, from_thread.check_cancelled)
    if usage_reader is not None:
        disk.measure_unlinked = partial(usage_reader.measure_unlinked_bytes, in_memory=bounds.tmpfs_folders)
    pause = _PAUSE_S
    while True:
        await anyio.sleep(pause)
        started_at = time.monotonic()
        if words := await to_thread.run_sync(_find_violation, usage_reader, bounds, disk):
            return words
        pause = max(_PAUSE_S, _REST * (time.monotonic() - started_at))


def _find_violation(usage_reader: UsageReader | None, bounds: ResourceBounds, disk: DiskUsageMeter) -> str:
    return next(filter(None, _check_all(usage_reader, bounds, disk)), "")


def _check_all(usage_reader: UsageReader | None, bounds: ResourceBounds, disk: DiskUsageMeter) -> Iterator[str]:
    """Yield what is over its limit, the cheapest to find first; "" for each check that passes."""
    limits = bounds.limits
    yield bounds.format_oom_kill()
    if usage_reader is not None:
        yield from _check_processes(usage_reader, bounds)
    disk_usage = disk.measure_if_shrunk()
    if disk_usage is not None and limits.disk_bytes is not None and disk_usage.size_bytes > limits.disk_bytes:
        yield f"It filled its workspace with more than {limits.disk_bytes / _MIB:,.0f} MiB."
    if disk_usage is not None and disk_usage.files > limits.files:
        yield f"It has more than {limits.files:,} files in its workspace."


def _check_processes(usage_reader: UsageReader, bounds: ResourceBounds) -> Iterator[str]:
    usage, files = usage_reader.read_usage(), bounds.limits.files
    if usage is not None:
        yield _check_usage(usage_reader, usage, bounds)
    if sum(usage_reader.measure_tmpfs(folder)[1] for folder in bounds.tmpfs_folders) > files:
        yield f"It made more than {files:,} files in memory."


def _check_usage(usage_reader: UsageReader, usage: SandboxUsage, bounds: ResourceBounds) -> str:
    limits, group = bounds.limits, bounds.group
    cpu_s = group.read_cpu_s() if group else usage.cpu_s
    if limits.cpu_s is not None and cpu_s > limits.cpu_s:
        return f"It used more than {limits.cpu_s} s of CPU time."
    if limits.processes < usage.tasks and not has_namespaced_process_limit():
        return f"It started more than {limits.processes} processes."
    limit = limits.memory_bytes
    if limit is not None and group is None and _exceeds_memory(limit, usage_reader, usage, bounds):
        return _format_memory(limits)
    return ""


def _exceeds_memory(limit: int, usage_reader: UsageReader, usage: SandboxUsage, bounds: ResourceBounds) -> bool:
    could_exceed = usage_reader.estimate_max_memory_bytes(usage.resident_bytes) > limit
    return could_exceed and usage_reader.measure_memory_bytes(bounds.tmpfs_folders) > limit


def _format_memory(limits: CommandLimits) -> str:
    return f"It used more than {(limits.memory_bytes or 0) / _MIB:,.0f} MiB of memory."
