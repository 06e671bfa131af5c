"""Bubblewrap: one sandbox design for all commands of this process, built anew for each of them."""

from collections.abc import AsyncIterator, Iterable
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from anyio import to_thread

from orchestrator.domain.sandbox.tier import Tier
from orchestrator.domain.sandbox.world import World
from orchestrator.hands.execution.process_runner import RunningCommand, run_until_exit
from orchestrator.hands.execution.sandbox_process import BuildCommandLine, CommandInput, start_bubblewrap
from orchestrator.hands.limits import cgroup
from orchestrator.hands.limits.rlimits import wrap_in_rlimits
from orchestrator.hands.limits.watchdog import ResourceBounds
from orchestrator.hands.network.registries import REGISTRIES_FOLDER
from orchestrator.hands.policy import Registries
from orchestrator.hands.sandbox import etc_files
from orchestrator.hands.sandbox.backend import ExecutionRequest, Mount, MountPlan, build_read_only_mount
from orchestrator.hands.sandbox.bubblewrap_arguments import BubblewrapLaunch, build_bubblewrap_arguments
from orchestrator.hands.sandbox.filesystem_layout import LayoutBackend, SandboxLayout, build_layout
from orchestrator.hands.sandbox.program_search import BackendContext, SandboxPrograms, find_sandbox_programs
from orchestrator.hands.seccomp import bpf_filter
from orchestrator.ports.hands import CommandResult, ShellCommand

if TYPE_CHECKING:
    from orchestrator.hands.network.egress import Egress


@dataclass(frozen=True)
class BubblewrapBackend(LayoutBackend):
    """Bubblewrap as a `Backend`, made once per process by `build_bubblewrap_backend`.

    `filter_file` holds the filter of system calls, None on machines whose calls we do not know. `group_parent` makes
    control groups where the limits need some.
    """

    layout: SandboxLayout
    programs: SandboxPrograms
    filter_file: Path | None = None
    group_parent: cgroup.ControlGroupParent | None = None

    name = "bubblewrap"
    ceiling = Tier.EVERYTHING

    @property
    def description(self) -> str:
        """The program behind it, its version, and the user that commands run as."""
        filtering = "system calls filtered" if self.filter_file else "system calls not filtered on this machine"
        return f"{self.programs.version} at {self.programs.bwrap}, {self.user_note}, {filtering}{self._limits_note}"

    @property
    def _limits_note(self) -> str:
        if not cgroup.needs_control_group(self.policy.limits):
            return ""
        if self.group_parent:
            return f", limits held by cgroups v{self.group_parent.version}"
        return ", limits watched by sampling"

    def build_environment(
        self, command: ShellCommand, world: World | None = None, registries: Registries | None = None
    ) -> dict[str, str]:
        """Return all variables that the command sees in a world when it starts."""
        if registries is None:
            return self.layout.build_environment(command, world)
        from orchestrator.hands.network.egress import build_proxy_environment

        return self.layout.build_environment(command, world, build_proxy_environment(registries))

    async def run_command(self, request: ExecutionRequest) -> CommandResult:
        """Run a command to its end, in a sandbox of its own."""
        if request.command.tier != Tier.REGISTRIES or request.registries is None:
            return await self._run_in_sandbox(request)
        from orchestrator.hands.network.egress import open_egress  # without the network, no proxy is loaded

        folder, rules = self.layout.fixtures.parent / "network", request.command.host_rules
        async with open_egress(request.registries, folder, host_rules=rules) as egress:
            ended = await self._run_in_sandbox(request, egress)
        return ended.model_copy(update={"network": egress.decisions})

    async def _run_in_sandbox(self, request: ExecutionRequest, egress: "Egress | None" = None) -> CommandResult:
        build = self.build_command_line(request.command, request.mount_plan, request.exchange, egress)
        async with self._open_group() as group:
            in_memory = ("/tmp", "/dev/shm", self.layout.get_world(request.mount_plan).home)
            bounds = ResourceBounds(self.policy.limits, request.writable_folders, in_memory, group)

            def start_command(writer: int, stack: ExitStack) -> RunningCommand:
                source = CommandInput(request.command.stdin, request.pipes, request.secrets)
                return start_bubblewrap(
                    *(lambda descriptors: bounds.wrap_command(build(descriptors)), writer, stack),
                    *(source, self.filter_file, bounds.closely_watched),
                )

            return await run_until_exit(start_command, request, bounds, self.policy.uid)

    @asynccontextmanager
    async def _open_group(self) -> AsyncIterator[cgroup.ControlGroup | None]:
        """Make a control group for the command while the block lasts, where the limits need one and it is possible."""
        if self.group_parent is None:
            yield None
            return
        with anyio.CancelScope(shield=True):
            group = await to_thread.run_sync(self.group_parent.create_group, self.policy.limits)
        try:
            yield group
        finally:
            with anyio.CancelScope(shield=True):
                await to_thread.run_sync(group.remove_group)

    async def release_workspace(self, mount_plan: MountPlan) -> None:
        """Do nothing: no sandbox is kept between commands."""

    def build_command_line(
        self, command: ShellCommand, mount_plan: MountPlan, exchange: Path | None = None, egress: "Egress | None" = None
    ) -> BuildCommandLine:
        """Return the command line for a command; `exchange` is a host directory for `command.files`.

        Without an `egress` a command at tier 2 has no network.
        """
        words = (*(egress.words if egress else ()), *self.layout.build_shell_command(command))
        mounts = self.layout.build_mounts(mount_plan, command.writable, exchange)
        world = self.layout.get_world(mount_plan)
        launch = BubblewrapLaunch(
            mounts=(*mounts, *_iterate_network_mounts(command.tier, egress)),
            env=self.build_environment(command, world, egress.registries if egress else None),
            cwd=self.layout.cwd,
            command=wrap_in_rlimits(words, self.policy.limits, self.programs.prlimit),
            shm_bytes=self.policy.limits.tmpfs_bytes,
            host=world.host,
            uid=world.uid,
            gid=world.gid,
            shares_network=command.tier == Tier.EVERYTHING,
        )
        programs, uid = self.programs, self.policy.uid
        return lambda fds: build_bubblewrap_arguments(
            launch, programs, uid, fds.info, fds.status, fds.gate, fds.filter, fds.secrets
        )


def build_bubblewrap_backend(context: BackendContext) -> BubblewrapBackend:
    """Find the programs, and prepare the files that every sandbox shares.

    Raises:
        ProgramMissing: a program is missing or broken.
        OSError: the files cannot be written, or commands would run as root.
    """
    programs, fixtures = find_sandbox_programs(context), context.session / "fixtures"
    layout = build_layout(context.policy, context.host_paths, fixtures, is_namespace_own=True)
    filter_file = bpf_filter.write_filter(fixtures / "filter")
    return BubblewrapBackend(layout, programs, filter_file, cgroup.find_usable_group_parent(context.policy.limits))


def _iterate_network_mounts(tier: Tier, egress: "Egress | None") -> Iterable[Mount]:
    if egress:
        yield build_read_only_mount(egress.folder, REGISTRIES_FOLDER)
        for folder in egress.registries.folders:
            yield build_read_only_mount(folder)
    if tier == Tier.EVERYTHING:
        files = ((Path("/etc") / name).resolve() for name in etc_files.RESOLVER_FILES)
        for name, file in zip(etc_files.RESOLVER_FILES, files, strict=True):
            if file.is_file():
                yield build_read_only_mount(file, f"/etc/{name}")
