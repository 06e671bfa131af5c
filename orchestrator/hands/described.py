"""A policy in words, for people."""

from collections.abc import Mapping

from orchestrator.hands.policy import Limits, Policy, Tier
from orchestrator.hands.programs import Programs

TIERS = {Tier.FILES: "files only", Tier.COMMANDS: "commands without network"}


def describe(policy: Policy, programs: Programs | None, commands: str) -> Mapping[str, str]:
    """One line for each part; `commands` says whether they run here."""
    return {
        "tier": f"{int(policy.tier)} ({TIERS[policy.tier]})",
        "commands": commands,
        "program": _sandbox(programs, policy.uid),
        "read-only": ", ".join(policy.read_only) or "nothing besides the system",
        "shared": ", ".join(policy.shared) or "nothing",
        "path": ":".join(policy.path),
        "variables": ", ".join(sorted(policy.env)) or "none of yours",
        "limits": _limits(policy.limits),
    }


def _sandbox(programs: Programs | None, uid: int | None) -> str:
    if programs is None:
        return "none"
    return f"{programs.version} at {programs.bwrap}, " + ("as yourself" if uid is None else f"as user {uid}")


def _limits(limits: Limits) -> str:
    return (
        f"{limits.processes} processes, {limits.open_files} open files, {_mib(limits.file_bytes)} a file, "
        f"{_mib(limits.output_bytes)} of output, {_mib(limits.address_space_bytes)} of memory a process, "
        f"{_mib(limits.tmpfs_bytes)} in each of home, /tmp and /dev/shm"
    )


def _mib(size: int | None) -> str:
    return "no limit" if size is None else f"{size // 1024**2:,} MiB"
