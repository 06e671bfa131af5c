"""No walls at all: commands run beside us, in the worktree itself. Only `--unsafe-no-sandbox` leads here.

What is still kept: an environment built from scratch, limits on time and output, a git directory that is thrown away
where the command does not look for another, and that what a command leaves running is killed as far as possible.
"""

import json
import os
import signal
import subprocess
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from orchestrator.domain.sandbox.tier import Tier
from orchestrator.domain.sandbox.unsafe_banner import UNSAFE_BANNER
from orchestrator.domain.sandbox.world import World
from orchestrator.errors import UsageProblem
from orchestrator.hands.execution.process_runner import RunningCommand, run_until_exit
from orchestrator.hands.execution.sandbox_process import CommandInput
from orchestrator.hands.limits.rlimits import wrap_in_rlimits
from orchestrator.hands.limits.watchdog import ResourceBounds
from orchestrator.hands.policy import Registries, SandboxPolicy
from orchestrator.hands.sandbox.backend import WORKTREES_FOLDER, ExecutionRequest, HostPaths, Mount, MountPlan
from orchestrator.hands.sandbox.filesystem_layout import BASE_VARIABLES, find_shell
from orchestrator.hands.sandbox.no_sandbox_in_ci import refuse_in_ci
from orchestrator.hands.sandbox.program_search import BackendContext
from orchestrator.hands.toolchain.interpreters import get_own_python, read_script
from orchestrator.ports.hands import CommandResult, ShellCommand
from worktrees.safety.private_directory import create_private_directory

_DYING_S = 5.0


@dataclass(frozen=True)
class NoSandboxBackend:
    """No sandbox as a `Backend`. Made by `build_no_sandbox`."""

    policy: SandboxPolicy
    host_paths: HostPaths
    prlimit: str

    name = "none"
    ceiling = Tier.EVERYTHING
    description = UNSAFE_BANNER

    def build_mounts(self, mount_plan: MountPlan) -> tuple[Mount, ...]:
        """Return no mounts: there are no walls."""
        return ()

    def draw_world(self) -> None:
        """Return None: commands see the machine as it is."""

    def create_world_files(self, world: World, folder: Path) -> None:
        """Do nothing: there are no worlds."""

    def build_environment(
        self, command: ShellCommand, world: World | None = None, registries: Registries | None = None
    ) -> dict[str, str]:
        """Return all variables that the command sees when it starts, except those that name places of its workspace."""
        places = {"PATH": ":".join(self.policy.path), "HOME": str(self.host_paths.home), "SHELL": "/bin/sh"}
        return places | BASE_VARIABLES | self.policy.env | command.env

    async def run_command(self, request: ExecutionRequest) -> CommandResult:
        """Run a command to its end, as a child process."""
        bounds = ResourceBounds(self.policy.limits, request.writable_folders)
        source = CommandInput(request.command.stdin, request.pipes)
        start = partial(_start_supervisor, self._build_order(request), source)
        return await run_until_exit(start, request, bounds, self.policy.uid)

    async def release_workspace(self, mount_plan: MountPlan) -> None:
        """Do nothing: there is nothing to release."""

    def _build_order(self, request: ExecutionRequest) -> dict[str, Any]:
        command, mount_plan = request.command, request.mount_plan
        words = wrap_in_rlimits((find_shell(), "-c", command.line), self.policy.limits, self.prlimit, are_counted=True)
        git = {"GIT_DIR": str(mount_plan.git), "GIT_WORK_TREE": str(mount_plan.root)}
        files = {variable: f"{request.exchange}/{name}" for variable, name in command.files.items()}
        env = {**self.build_environment(command), **git, **files, **request.secrets}
        cwd = str(mount_plan.root / command.cwd)
        return {"words": words, "env": env, "cwd": cwd, "user": self.policy.uid}


@dataclass
class _UnsandboxedCommand(RunningCommand):
    """A command that runs without walls."""

    popen: subprocess.Popen[bytes]
    supervisor_pidfd: int
    control: int
    status: int
    outcome: dict[str, int] = field(default_factory=dict)

    async def wait_until_started(self) -> None:
        """Return at once: there is nothing to wait for."""

    async def wait_until_exited(self) -> None:
        """Wait until the command has ended and what it left has been killed."""
        await anyio.wait_readable(self.supervisor_pidfd)

    async def kill_command(self) -> None:
        """Hang up, so that the supervisor kills everything; kill the supervisor itself if it does not end."""
        if self.control >= 0:
            os.close(self.control)
            self.control = -1
        with anyio.move_on_after(_DYING_S) as limit:
            await self.wait_until_exited()
        if limit.cancelled_caught:
            signal.pidfd_send_signal(self.supervisor_pidfd, signal.SIGKILL)
        self.was_killed = self.popen.wait() < 0
        self.outcome = json.loads(os.read(self.status, 4096) or b"{}")
        self.was_killed |= not {"exit", "started"} & self.outcome.keys()

    def get_exit_code(self) -> int | None:
        """Return the exit code; None if the command never started or was killed."""
        return self.outcome.get("exit")


def _start_supervisor(
    order: dict[str, Any], source: CommandInput, writer: int, stack: ExitStack
) -> _UnsandboxedCommand:
    control_source, control = os.pipe()
    status, status_sink = os.pipe()
    os.set_blocking(status, False)
    stack.callback(os.close, status)
    words = [str(get_own_python()), "-I", "-S", "-X", "utf8", "-c", read_script("sandbox", "supervisor.py")]
    words.append(json.dumps(order | {"control": control_source, "status": status_sink}))
    stdin, stdout = source.open_stdin(stack), source.get_stdout(writer)
    try:
        passed = (control_source, status_sink)
        popen = subprocess.Popen(words, stdin=stdin, stdout=stdout, stderr=writer, env={}, cwd="/", pass_fds=passed)
    except OSError:
        os.close(control)
        raise
    finally:
        os.close(control_source)
        os.close(status_sink)
    supervisor_pidfd = os.pidfd_open(popen.pid)
    stack.callback(os.close, supervisor_pidfd)
    return _UnsandboxedCommand(popen, supervisor_pidfd, control, status)


def build_no_sandbox(context: BackendContext) -> NoSandboxBackend:
    """Return the backend for a run without a sandbox.

    Raises:
        UsageProblem: this is CI, or commands would run as root, or as a user who cannot reach the worktrees.
        ProgramMissing: prlimit is not installed.
    """
    policy = context.policy
    refuse_in_ci(context.environ)
    if os.geteuid() == 0 and policy.uid is None:
        raise UsageProblem("--unsafe-no-sandbox is refused to root: start as a normal user, or set uid under [hands]")
    if policy.uid is not None:
        _open_folders_to_user(context.session, context.host_paths.state, policy.uid)
    return NoSandboxBackend(policy, context.host_paths, context.find_program("prlimit", "util-linux"))


def _open_folders_to_user(session: Path, state: Path, uid: int) -> None:
    """Let the user of commands pass through our own directories, and nobody else; not into what they do not need.

    What lies above our directories is not ours to open.
    """
    for entry in state.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            entry.chmod(0o700)
    for folder in (create_private_directory(state / WORKTREES_FOLDER), session, session.parent, state):
        os.chown(folder, -1, uid)
        folder.chmod(0o710)
    closed = next((folder for folder in state.parents if not folder.stat().st_mode & 0o001), None)
    if closed is not None:
        raise UsageProblem(
            f"--unsafe-no-sandbox: started by root, commands run as another user, who cannot pass through {closed}: "
            "name a place elsewhere with --state DIR, or start as a normal user"
        )
