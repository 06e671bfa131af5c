"""Resource limits around a command, as far as this host lets us set them."""

import platform
import re
import resource
from collections.abc import Sequence

from orchestrator.hands.policy import CommandLimits


def wrap_in_rlimits(
    command: Sequence[str], limits: CommandLimits, prlimit: str, *, are_counted: bool = False
) -> tuple[str, ...]:
    """Return the command with resource limits around it and without core dumps. Lower ceilings of our own stay.

    With `are_counted` its processes are limited otherwise already.
    """
    processes = limits.processes if has_namespaced_process_limit() and not are_counted else None
    ceilings = {
        "core": (resource.RLIMIT_CORE, 0),
        "nofile": (resource.RLIMIT_NOFILE, limits.open_files),
        "fsize": (resource.RLIMIT_FSIZE, limits.file_bytes),
        "as": (resource.RLIMIT_AS, limits.address_space_bytes),
        "nproc": (resource.RLIMIT_NPROC, processes),
    }
    options = []
    for name, (kind, value) in ceilings.items():
        if value is not None:
            options.append(f"--{name}={cap_by_hard_limit(kind, value)}")
    return (prlimit, *options, "--", *command)


def has_namespaced_process_limit(release: str | None = None) -> bool:
    """Return True if the kernel counts processes per user namespace, so that a limit means this sandbox alone."""
    found = re.match(r"(\d+)\.(\d+)", platform.release() if release is None else release)
    return found is not None and (int(found[1]), int(found[2])) >= (5, 14)


def cap_by_hard_limit(kind: int, value: int) -> int:
    """Return the value, or the hard limit of this process where that is lower."""
    hard = resource.getrlimit(kind)[1]
    return value if hard == resource.RLIM_INFINITY else min(value, hard)
