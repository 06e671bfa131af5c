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
        "limits": _limits(policy.limits),
        **_registries(policy.registries),
    }


def _registries(found: Registries | None) -> Mapping[str, str]:
    """Return the lines on the registries: what tier 2 reaches, and which settings of the user it ignores."""
    if found is None:
        return {}
    private = []
    for place in found.hosts:
        if place in found.private:
            private.append(place)
    return {
        "registries": ", ".join(found.hosts) or "none",
        "private registries": ", ".join(private) or "none",
        "packages": ", ".join(found.folders) or "none on this machine",
        "registry traffic": f"{_mib(found.budget_bytes)} a command, both ways",
        "registry notes": "; ".join(found.notes) or "none",
    }


def _limits(limits: CommandLimits) -> str:
    return (
        f"{limits.processes} processes, {limits.open_files} open files, {_mib(limits.file_bytes)} a file, "
        f"{_mib(limits.output_bytes)} of output, {_mib(limits.address_space_bytes)} of memory a process and "
        f"{_mib(limits.memory_bytes)} together, {_seconds(limits.cpu_s)} of CPU time, "
        f"{_mib(limits.disk_bytes)} and {limits.files:,} files in the workspace, "
        f"{_mib(limits.tmpfs_bytes)} in each of home, /tmp and /dev/shm"
    )


def _seconds(limit: int | None) -> str:
    if limit is None:
        return "no limit"
    return f"{limit:,} s"


def _mib(size: int | None) -> str:
    if size is None:
        return "no limit"
    return f"{size // 1024**2:,} MiB"
