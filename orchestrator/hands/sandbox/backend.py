"""The interface of all backends that run commands on a host: bubblewrap, containers, or no sandbox at all."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from orchestrator.domain.sandbox.tier import Tier
from orchestrator.hands.policy import Registries, SandboxPolicy
from orchestrator.hands.sandbox.host_paths import HostPaths
from orchestrator.hands.sandbox.mounts import Mount
from orchestrator.ports.hands import CommandResult, ShellCommand


@dataclass(frozen=True)
class MountPlan:
    """A workspace as a sandbox sees it: its checkout `root`, its shadow git directory, and what it borrows.

    `shared` are names of things in the checkout, each with the host directory in which it lies under the same name.
    """

    root: Path
    git: Path
    objects: tuple[Path, ...] = ()
    shared: Mapping[str, Path] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class ExecutionRequest:
    """A command to be run in a workspace, its whole output into `log`.

    `exchange` is a host directory for `command.files`. `timeout_s` of wall time and `output_bytes` count, not what the
    command says of them. `registries` are given with a command at tier 2, and are all it may reach.
    """

    command: ShellCommand
    mount_plan: MountPlan
    log: Path
    timeout_s: float
    output_bytes: int
    exchange: Path | None = None
    registries: Registries | None = None

    @property
    def writable_folders(self) -> tuple[Path, ...]:
        """The host directories that the command can write to."""
        return (self.mount_plan.root, self.mount_plan.git, *([self.exchange] if self.exchange else []))


class Backend(Protocol):
    """Runs commands behind walls. Made once per process, and self-tested before any command of a model."""

    @property
    def name(self) -> str:
        """The backend's name in one word."""

    @property
    def host_paths(self) -> HostPaths:
        """The host directories around the work."""

    @property
    def policy(self) -> SandboxPolicy:
        """The policy that commands run under."""

    @property
    def ceiling(self) -> Tier:
        """The highest tier that it can offer."""

    @property
    def description(self) -> str:
        """The program behind it, its version, and the user that commands run as."""

    def build_mounts(self, mount_plan: MountPlan) -> tuple[Mount, ...]:
        """Return the mounts of a command in a workspace; none where there are no walls."""

    def build_environment(self, command: ShellCommand, registries: Registries | None = None) -> dict[str, str]:
        """Return all variables that the command sees when it starts."""

    async def run_command(self, request: ExecutionRequest) -> CommandResult:
        """Run a command to its end; returns only when everything it started is dead, also when cancelled.

        Raises:
            OSError: the host could not keep a log or watch the command.
        """

    async def release_workspace(self, mount_plan: MountPlan) -> None:
        """End what is kept for a workspace between commands; it is about to be closed."""
