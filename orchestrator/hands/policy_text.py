"""A policy in words, for people."""

from collections.abc import Mapping

from orchestrator.hands.policy import CommandLimits, Registries, SandboxPolicy


def format_policy(policy: SandboxPolicy, program: str, commands: str) -> Mapping[str, str]:
    """Return one line for each part of the policy; `commands` says whether commands run here."""
    return {
        "tier": f"{int(policy.tier)} ({policy.tier.description})",
        "commands": commands,
        "program": program or "none",
        "read-only": ", ".join((*policy.read_only, *policy.programs)) or "nothing besides the system",
        "shared": ", ".join(policy.shared) or "nothing",
        "path": ":".join(policy.path),
        "variables": ", ".join(sorted(policy.env)) or "none of yours",
        "limits": _format_limits(policy.limits),
        **_format_registries(policy.registries),
    }


def _format_registries(registries: Registries | None) -> Mapping[str, str]:
    """Return the lines on the registries: what tier 2 reaches, and which settings of the user it ignores."""
    if registries is None:
        return {}
    private = [host for host in registries.hosts if host in registries.private]
    return {
        "registries": ", ".join(registries.hosts) or "none",
        "private registries": ", ".join(private) or "none",
        "packages": ", ".join(registries.folders) or "none on this machine",
        "registry traffic": f"{_format_mib(registries.budget_bytes)} a command, both ways",
        "registry notes": "; ".join(registries.notes) or "none",
    }


def _format_limits(limits: CommandLimits) -> str:
    return (
        f"{limits.processes} processes, {limits.open_files} open files, {_format_mib(limits.file_bytes)} a file, "
        f"{_format_mib(limits.output_bytes)} of output, "
        f"{_format_mib(limits.address_space_bytes)} of memory a process and "
        f"{_format_mib(limits.memory_bytes)} together, {_format_seconds(limits.cpu_s)} of CPU time, "
        f"{_format_mib(limits.disk_bytes)} and {limits.files:,} files in the workspace, "
        f"{_format_mib(limits.tmpfs_bytes)} in each of home, /tmp and /dev/shm"
    )


def _format_seconds(limit: int | None) -> str:
    return f"{limit:,} s" if limit is not None else "no limit"


def _format_mib(size: int | None) -> str:
    return f"{size // 1024**2:,} MiB" if size is not None else "no limit"
