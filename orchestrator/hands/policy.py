"""The limits of a sandbox: the user's grant, and the resolved policy that commands run under.

Neither ever comes from the repository being worked on. Both are told to people in words from here.
"""

import hashlib
import json
from collections.abc import Mapping
from enum import StrEnum
from functools import cached_property

from pydantic import Field

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.paths.dependencies import DEPENDENCY_PATTERNS
from orchestrator.domain.sandbox.tier import Tier

NOBODY_UID = 65534
_GIB = 1024**3


class BackendChoice(StrEnum):
    """The backends that the user lets commands run on; `auto` takes the first of them that holds."""

    AUTO = "auto"
    BUBBLEWRAP = "bubblewrap"
    CONTAINER = "container"


class CommandLimits(FrozenModel):
    """Ceilings for one command, whatever it asks for itself.

    `wall_s` and `output_bytes` cap those of a `ShellCommand`. `address_space_bytes`, `file_bytes` and `open_files`
    count per process; `processes` counts the whole sandbox, on kernels that count per user namespace (5.14 and
    later). `memory_bytes` and `cpu_s` count the command with everything it starts, `disk_bytes` what its workspace
    holds, `files` the files and directories in it, and as many in memory. `tmpfs_bytes` is the size of the home
    directory, of /tmp and of /dev/shm, each.
    """

    wall_s: float = Field(default=24 * 3600.0, gt=0)
    address_space_bytes: int | None = Field(default=None, gt=0)
    file_bytes: int = Field(default=2 * _GIB, gt=0)
    open_files: int = Field(default=4096, ge=16)
    processes: int = Field(default=512, ge=8)
    output_bytes: int = Field(default=64 * 1024**2, gt=0)
    tmpfs_bytes: int = Field(default=_GIB, gt=0)
    memory_bytes: int | None = Field(default=None, gt=0)
    cpu_s: int | None = Field(default=None, gt=0)
    disk_bytes: int | None = Field(default=8 * _GIB, gt=0)
    files: int = Field(default=1_000_000, gt=0)


class RegistryGrant(FrozenModel):
    """The user's settings for tier 2. Without `named` hosts it reaches those that pip and npm use.

    Entries are `host:port`. Those in `private` may resolve to a private address, those in `plain` use http without TLS.
    `budget_bytes` is what one command may move, both ways.
    """

    named: tuple[str, ...] = ()
    private: tuple[str, ...] = ()
    plain: tuple[str, ...] = ()
    budget_bytes: int = Field(default=2 * _GIB, gt=0)


class Registries(FrozenModel):
    """The registries that tier 2 reaches, and their configuration inside.

    `hosts` are all the `host:port`, `private` those of them that may resolve to a private address, `plain` those
    that may be spoken to without TLS. `folders` hold packages on this machine, bound read-only. `settings` are
    texts of configuration files for pip and npm without any credential, `certificates` the host's files of authorities
    that they trust, each by the file's name inside. `notes` list the user's settings that are left out.
    """

    hosts: tuple[str, ...] = ()
    private: tuple[str, ...] = ()
    plain: tuple[str, ...] = ()
    budget_bytes: int = Field(default=2 * _GIB, gt=0)
    folders: tuple[str, ...] = ()
    settings: dict[str, str] = Field(default_factory=dict)
    certificates: dict[str, str] = Field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """True if nothing at all could be reached."""
        return not self.hosts and not self.folders


class GrantedFolder(FrozenModel):
    """A directory the user asked to have bound read-only; `origin` says where it was given, for messages."""

    path: str
    origin: str = "hands.read_only"


class SandboxGrant(FrozenModel):
    """The user's grant as written: directories may be relative to the repository's root or start with `~`.

    `share` holds glob patterns of git-ignored paths, `writable` of those of them that each workspace gets a copy of;
    `uid` is the user that commands run as when started by root.
    `tier` is the default of commands, `ceiling` the highest that one may ask for. `without_sandbox` lets them run with
    no walls around them, for this run only. `lent` are things that the harness has made, by their paths in the
    checkout, each with the directory below which it lies; they go before what it has. `programs` are absolute paths of
    files that commands find at the same place, without the directories that they lie in. `tools` are directories like
    those of `read_only`, but their programs go last on PATH, so that none takes the place of the project's.
    """

    tier: Tier = Tier.COMMANDS
    ceiling: Tier = Tier.COMMANDS
    read_only: tuple[GrantedFolder, ...] = ()
    tools: tuple[GrantedFolder, ...] = ()
    programs: tuple[str, ...] = ()
    share: tuple[str, ...] = DEPENDENCY_PATTERNS
    writable: tuple[str, ...] = ()
    lent: dict[str, str] = Field(default_factory=dict)
    env: dict[str, str] = Field(default_factory=dict)
    limits: CommandLimits = CommandLimits()
    uid: int = Field(default=NOBODY_UID, gt=0)
    backend: BackendChoice = BackendChoice.AUTO
    without_sandbox: bool = False
    registries: RegistryGrant = RegistryGrant()


class SandboxPolicy(FrozenModel):
    """The policy that commands run under. Paths are those seen inside.

    `read_only` are directories bound at their own path, `programs` single files, `masked` files below the directories
    that stay unreadable, `path` the directories of PATH in order, `shared` paths relative to the repository's root,
    each with the host directory below which it lies, `writable` patterns of those that are copied into each workspace,
    without the files `left_out`. `uid` is None unless commands are started by root and drop to it.
    `registries` are found out when a command first asks for tier 2, and stand in the policy of that tier alone.
    Without `is_confined` there are no walls; `backend` names what builds them, once one has come up and held.
    """

    tier: Tier = Tier.COMMANDS
    read_only: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    masked: tuple[str, ...] = ()
    path: tuple[str, ...] = ()
    env: dict[str, str] = Field(default_factory=dict)
    shared: dict[str, str] = Field(default_factory=dict)
    writable: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    limits: CommandLimits = CommandLimits()
    uid: int | None = None
    is_confined: bool = True
    registries: Registries | None = None
    backend: str = ""

    @cached_property
    def sha(self) -> str:
        """A hash of every field; kept, as every call of a tool records it."""
        return hashlib.sha256(json.dumps(self.model_dump(mode="json"), sort_keys=True).encode()).hexdigest()


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
