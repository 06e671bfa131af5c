"""Bubblewrap: one sandbox design for all commands of this process, built anew for each of them."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import anyio
from anyio import to_thread

from orchestrator.domain.tier import Tier
from orchestrator.hands import process, seccomp, system_files
from orchestrator.hands.backend import Order, Place
from orchestrator.hands.bubblewrap import Launch, arguments
from orchestrator.hands.ceilings import limited
from orchestrator.hands.cgroup import Group, Groups, are_needed, usable_groups
from orchestrator.hands.layout import Layout, OnLayout, build_layout
from orchestrator.hands.mounts import Mount, read_only
from orchestrator.hands.places import Surroundings
from orchestrator.hands.policy import Policy, Registries
from orchestrator.hands.process import Ended, Terms
from orchestrator.hands.programs import Programs
from orchestrator.hands.registries import INSIDE
from orchestrator.hands.started import Build
from orchestrator.hands.watchdog import Bounds
from orchestrator.hands.way_out import WayOut, variables, way_out
from orchestrator.ports.hands import Command


@dataclass(frozen=True)
class Sandbox(OnLayout):
    """Bubblewrap as a `Backend`, made once per process by `build_sandbox`.

    `filter_file` holds the filter of system calls, None on machines whose calls we do not know; `groups` makes control
    groups where the limits need some.
    """

    layout: Layout
    programs: Programs
    filter_file: Path | None = None
    groups: Groups | None = None

    @property
    def name(self) -> str:
        """One word for it."""
        return "bubblewrap"

    @property
    def ceiling(self) -> Tier:
        """The highest tier that it can offer."""
        return Tier.EVERYTHING

    @property
    def described(self) -> str:
        """The program behind it, its version, and as whom commands run."""
        who = "as yourself" if self.policy.uid is None else f"as user {self.policy.uid}"
        calls = "system calls filtered" if self.filter_file else "system calls not filtered on this machine"
        return f"{self.programs.version} at {self.programs.bwrap}, {who}, {calls}{self._held}"

    @property
    def _held(self) -> str:
        if not are_needed(self.policy.limits):
            return ""
        version = self.groups.version if self.groups else 0
        return f", limits held by cgroups v{version}" if version else ", limits watched by sampling"

    def env(self, command: Command, registries: Registries | None = None) -> dict[str, str]:
        """Every variable the command sees when it starts."""
        return self.layout.env(command, variables(registries) if registries else {})

    async def run(self, order: Order) -> Ended:
        """Run a command to its end, in a sandbox of its own."""
        if order.command.tier != Tier.REGISTRIES or order.registries is None:
            return await self._run(order)
        async with way_out(order.registries, self.layout.fixtures.parent / "network") as way:
            ended = await self._run(order, way)
        return replace(ended, network=way.decisions)

    async def _run(self, order: Order, way: WayOut | None = None) -> Ended:
        build = self.build(order.command, order.place, order.exchange, way)
        async with self._group() as group:
            bounds = Bounds(self.policy.limits, order.folders, ("/tmp", "/dev/shm", self.layout.user.home), group)
            terms = Terms(order.timeout_s, order.output_bytes, bounds, self.owner, self.filter_file)
            return await process.run(build, order.log, terms, order.command.stdin)

    @asynccontextmanager
    async def _group(self) -> AsyncIterator[Group | None]:
        """A control group of the command's own, where the limits need one and there can be one."""
        if self.groups is None:
            yield None
            return
        with anyio.CancelScope(shield=True):
            group = await to_thread.run_sync(self.groups.make, self.policy.limits)
        try:
            yield group
        finally:
            with anyio.CancelScope(shield=True):
                await to_thread.run_sync(group.remove)

    async def leave(self, place: Place) -> None:
        """Nothing is kept between commands."""

    def build(self, command: Command, place: Place, exchange: Path | None = None, way: WayOut | None = None) -> Build:
        """The command line for a command in a place; `exchange` is a host directory for `command.files`.

        Without a `way` out a command at tier 2 has no network.
        """
        words = (*(way.words if way else ()), *self.layout.shell(command))
        launch = Launch(
            mounts=(*self.layout.mounts(place, command.writable, exchange), *_network(command.tier, way)),
            env=self.env(command, way.registries if way else None),
            cwd=self.layout.cwd,
            command=limited(words, self.policy.limits, self.programs.prlimit),
            shm_bytes=self.policy.limits.tmpfs_bytes,
            shares_network=command.tier == Tier.EVERYTHING,
        )
        programs, uid = self.programs, self.policy.uid
        return lambda fds: arguments(launch, programs, uid, fds.info, fds.status, fds.gate, fds.filter)


def build_sandbox(policy: Policy, programs: Programs, around: Surroundings, fixtures: Path) -> Sandbox:
    """Prepare the files that every sandbox shares, in the new directory `fixtures`.

    Raises:
        OSError: they cannot be written, or commands would run as root.
    """
    layout = build_layout(policy, around, fixtures)
    filter_file = seccomp.write_filter(fixtures / "filter")
    return Sandbox(layout, programs, filter_file, usable_groups(policy.limits))


def _network(tier: Tier, way: WayOut | None) -> Iterable[Mount]:
    if way:
        yield read_only(way.folder, INSIDE)
        yield from (read_only(folder) for folder in way.registries.folders)
    if tier == Tier.EVERYTHING:
        files = ((Path("/etc") / name).resolve() for name in system_files.NAMES)
        yield from (
            read_only(file, f"/etc/{name}")
            for name, file in zip(system_files.NAMES, files, strict=True)
            if file.is_file()
        )
