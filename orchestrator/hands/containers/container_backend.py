"""podman or docker as a backend: a container for each workspace, kept between its commands, one command at a time.

Its file system, variables and user are bubblewrap's. A second command at the same time gets a container of its own.
"""

import json
import resource
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import anyio
from anyio import to_thread

from orchestrator.domain.sandbox.tier import Tier
from orchestrator.domain.sandbox.world import World
from orchestrator.hands.containers.engines import ContainerEngine, build_image_archive
from orchestrator.hands.containers.run_arguments import CONTROL_FOLDER, SESSION_LABEL, STATE_LABEL, ContainerLaunch
from orchestrator.hands.containers.running_container import Container, start_container
from orchestrator.hands.execution.process_runner import build_not_started_result, run_until_exit
from orchestrator.hands.execution.sandbox_process import CommandInput
from orchestrator.hands.files.directory_trees import create_private_folder
from orchestrator.hands.limits.rlimits import cap_by_hard_limit, wrap_in_rlimits
from orchestrator.hands.limits.watchdog import ResourceBounds
from orchestrator.hands.policy import Registries, SandboxPolicy
from orchestrator.hands.sandbox.backend import ExecutionRequest, Mount, MountKind, MountPlan, sort_mounts
from orchestrator.hands.sandbox.filesystem_layout import LayoutBackend, SandboxLayout, build_layout
from orchestrator.hands.sandbox.program_search import BackendContext
from orchestrator.hands.seccomp.engine_profile import tighten_profile
from orchestrator.hands.toolchain.interpreters import get_own_python, read_script
from orchestrator.ports.hands import CommandResult, ShellCommand

_PROCESSES = 32_768
"""Not the limit of one container, which its engine sets, or the command itself; engines may give away no more."""

_TMPFS_MODE = 0o1777


@dataclass
class ContainerBackend(LayoutBackend):
    """Containers as a `Backend`, made once per process by `build_container_backend`.

    `root` names their root file system to the engine, `seccomp` is the path of a profile. `idle` holds the containers
    that wait for the next command of their workspace.
    """

    layout: SandboxLayout
    engine: ContainerEngine
    folder: Path
    session: Path
    root: tuple[str, ...]
    prlimit: str
    seccomp: str | None
    idle: dict[tuple[MountPlan, bool], list[Container]] = field(default_factory=dict)
    _root_turn: anyio.Lock = field(default_factory=anyio.Lock)  # all containers share the directory

    @property
    def name(self) -> str:
        """The backend's name in one word."""
        return self.engine.kind

    ceiling = Tier.COMMANDS  # containers have no network, so they reach no registries

    @property
    def description(self) -> str:
        """The engine's version and path, and the user that commands run as."""
        runtime = f" with {self.engine.runtime}" if self.engine.runtime else ""
        return f"{self.engine.version} at {self.engine.program}{runtime}, {self.user_note}"

    def build_environment(
        self, command: ShellCommand, world: World | None = None, registries: Registries | None = None
    ) -> dict[str, str]:
        """Return all variables that the command sees in a world when it starts."""
        return self.layout.build_environment(command, world)

    async def run_command(self, request: ExecutionRequest) -> CommandResult:
        """Run a command to its end, in a container of its workspace."""
        key = (request.mount_plan, request.command.writable)
        try:
            container = await self._acquire_container(key)
        except OSError as error:
            return build_not_started_result(request.log, f"The container could not be started: {error}.")
        try:
            return await self._run_in_container(container, request)
        finally:
            with anyio.CancelScope(shield=True):
                if container.is_over:
                    await container.remove_container()
                else:
                    self.idle.setdefault(key, []).append(container)

    async def release_workspace(self, mount_plan: MountPlan) -> None:
        """Remove every container of the workspace."""
        for key in [key for key in self.idle if key[0].root == mount_plan.root]:
            await _remove_containers(self.idle.pop(key))

    async def _run_in_container(self, container: Container, request: ExecutionRequest) -> CommandResult:
        command = request.command
        are_counted = "pids" in self.engine.supported_limits
        shell = self.layout.build_shell_command(command)
        words = wrap_in_rlimits(shell, self.policy.limits, self.prlimit, are_counted=are_counted)
        env = {**self.build_environment(command, request.mount_plan.world), **request.secrets}
        order = {"words": words, "env": env, "cwd": self.layout.cwd}
        bounds = ResourceBounds(self.policy.limits, request.writable_folders)
        begin = partial(container.start_command, order, CommandInput(command.stdin, request.pipes))
        outcome = await run_until_exit(begin, request, bounds, self.policy.uid)
        if request.exchange is not None:
            await to_thread.run_sync(_move_output_files, container.files, request.exchange, command.files.values())
        return outcome

    async def _acquire_container(self, key: tuple[MountPlan, bool]) -> Container:
        """Return an idle container of the workspace in which nothing was changed, or start a new one."""
        while waiting := self.idle.get(key):
            if await _is_fresh(container := waiting.pop()):
                return container
        with anyio.CancelScope(shield=True):  # a start that is given up half-way leaves something behind
            self.idle.setdefault(key, []).append(await self._start_container(*key))
        return self.idle[key].pop()

    async def _start_container(self, mount_plan: MountPlan, is_writable: bool) -> Container:
        name = f"orchestrate-{self.session.name}-{secrets.token_hex(4)}"
        folder = create_private_folder(self.folder / name)
        control = folder / "control"
        control.mkdir()
        control.chmod(0o755)
        files = create_private_folder(folder / "files", self.policy.uid)
        mounts, world = self.layout.build_mounts(mount_plan, is_writable, None), self.layout.get_world(mount_plan)
        async with self._root_turn:
            await to_thread.run_sync(_prepare_root, self.folder / "root", mounts, world.exchange)
        launch = ContainerLaunch(
            name=name,
            labels={STATE_LABEL: str(self.host_paths.state), SESSION_LABEL: str(self.session)},
            root=self.root,
            mounts=mounts,
            files=str(files),
            control=str(control),
            world=world,
            limits=self.policy.limits,
            python=str(get_own_python()),
            script=read_script("containers", "init_process.py"),
            seccomp=self.seccomp,
            supported_limits=self.engine.supported_limits,
            hard_processes=cap_by_hard_limit(resource.RLIMIT_NPROC, _PROCESSES),
        )
        return await start_container(self.engine, launch, folder)


async def build_container_backend(context: BackendContext, engine: ContainerEngine, folder: Path) -> ContainerBackend:
    """Prepare what every container shares, in the new directory `folder`.

    Raises:
        OSError: that cannot be written, the engine is not fit for it, or commands would run as root.
        ProgramMissing: prlimit is not installed.
    """
    prlimit = context.find_program("prlimit", "util-linux")
    await to_thread.run_sync(create_private_folder, folder)
    build = partial(build_layout, is_namespace_own=False)
    layout = await to_thread.run_sync(build, context.policy, context.host_paths, folder / "fixtures")
    root = create_private_folder(folder / "root")
    nowhere = MountPlan(Path("/nonexistent"), Path("/nonexistent"), (Path("/nonexistent"),))
    mounts = layout.build_mounts(nowhere, True, None)
    await to_thread.run_sync(_prepare_root, root, mounts, layout.plain_world.exchange)
    seccomp = await to_thread.run_sync(_write_seccomp_profile, engine, folder / "seccomp.json")
    root_words = await _name_root(engine, root, context.policy)
    return ContainerBackend(layout, engine, folder, context.session, root_words, prlimit, seccomp)


async def _name_root(engine: ContainerEngine, root: Path, policy: SandboxPolicy) -> tuple[str, ...]:
    """Return the words that name the root file system to the engine.

    Podman takes the directory itself, and runs as yourself only if your ids are mapped to themselves. Docker takes an
    image that is imported from the directory.
    """
    if engine.is_podman:
        user_options = ("--userns", "keep-id") if engine.is_rootless else ()
        return (*user_options, "--rootfs", str(root))
    image = f"orchestrate-root:{policy.sha[:16]}"
    archive = await to_thread.run_sync(build_image_archive, root)
    await engine.run_engine_command("import", "-", image, input_bytes=archive)
    return (image,)


def _prepare_root(root: Path, mounts: Iterable[Mount], exchange: str) -> None:
    """Make the file system under all mounts: links, and every place that something is mounted on, `exchange` too.

    What is missing the engine would make, as a user whose files we may not be able to remove.
    """
    root.chmod(0o755)
    for folder in ("proc", "sys", "dev", "run", "etc", exchange[1:], CONTROL_FOLDER[1:]):
        (root / folder).mkdir(parents=True, exist_ok=True)
    (root / "run" / ".containerenv").touch()
    for mount in sort_mounts(mounts):
        target = root / mount.dest.lstrip("/")
        if not target.is_symlink() and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            _create_mount_point(target, mount)


def _create_mount_point(target: Path, mount: Mount) -> None:
    if mount.kind == MountKind.LINK:
        target.symlink_to(mount.source)
    elif mount.is_bind_mount and Path(mount.source).is_file():
        target.touch()
    else:
        target.mkdir()
    if mount.kind == MountKind.EMPTY:
        target.chmod(_TMPFS_MODE)  # directories in memory take the mode of their place


def _write_seccomp_profile(engine: ContainerEngine, target: Path) -> str | None:
    """Write the engine's own system call filter, tightened; None for docker, whose own is tight enough."""
    if not engine.is_podman:
        return None
    if engine.seccomp is None or not Path(engine.seccomp).is_file():
        raise OSError(f"{engine.title} has no system call filter (seccomp profile) of its own to build on")
    profile = json.loads(Path(engine.seccomp).read_text(encoding="utf-8"))
    target.write_text(json.dumps(tighten_profile(profile)), encoding="utf-8")
    return str(target)


def _move_output_files(source: Path, target: Path, names: Iterable[str]) -> None:
    for name in names:
        try:
            (source / name).rename(target / name)
        except OSError:
            continue  # not written, or nothing that could be taken


async def _is_fresh(container: Container) -> bool:
    """Return True if the container can take the next command; remove it otherwise."""
    is_fresh = False
    try:
        is_fresh = await container.is_fresh()
    finally:
        if not is_fresh:
            await _remove_containers([container])
    return is_fresh


async def _remove_containers(containers: Iterable[Container]) -> None:
    with anyio.CancelScope(shield=True):
        async with anyio.create_task_group() as group:
            for container in containers:
                group.start_soon(container.remove_container)


async def remove_stale_containers(engine: ContainerEngine, state: Path) -> None:
    """Remove the containers of sessions below `state` that are no more. Raises OSError if the engine fails."""
    known = await engine.run_engine_command("ps", "--all", "--quiet", "--filter", f"label={STATE_LABEL}={state}")
    for number in known.split():
        form = f'{{{{index .Config.Labels "{SESSION_LABEL}"}}}}'
        session = (await engine.run_engine_command("container", "inspect", "--format", form, number)).strip()
        if not await to_thread.run_sync(Path(session).exists):
            await engine.run_engine_command("rm", "--force", number)
