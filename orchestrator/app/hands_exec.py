"""`hands exec`: run one command in a workspace of its own, exactly as a worker's would run."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from anyio import to_thread

from orchestrator.domain.ids import CommitId
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.sandbox.tier import Tier
from orchestrator.errors import EnvironmentProblem, ToolRefused, UsageProblem
from orchestrator.hands.local import LocalHands, open_local_hands
from orchestrator.hands.workspace import LocalWorkspace
from orchestrator.ports.hands import CommandResult, MountPoint, PolicyExplanation, ShellCommand
from orchestrator.project.options import Options, build_grant, load_project_context
from orchestrator.project.secrets import build_redactor
from orchestrator.provisioning.dependencies import DEPS_DIRECTORY, install_dependencies

_PAUSE_S = 0.1
_CHUNK_BYTES = 1024 * 1024


@dataclass(frozen=True)
class SandboxCommand:
    """A command in a workspace at the repository's HEAD. `explanation` is the policy that it runs under."""

    workspace: LocalWorkspace
    command: ShellCommand
    explanation: PolicyExplanation

    async def run(self, show: Callable[[bytes], None]) -> CommandResult:
        """Run the command to its end; `show` gets its output while it comes, standard output and error as one.

        Raises:
            EnvironmentProblem: this host has no sandbox to run commands in, or nothing for the tier.
            UsageProblem: the command cannot be run as asked.
        """
        call_id = "exec"
        try:
            await self.workspace.start_command(call_id, self.command)
        except ToolRefused as refusal:
            kind = EnvironmentProblem if self.command.tier > Tier.COMMANDS else UsageProblem
            raise kind(str(refusal)) from refusal
        with self.workspace.get_log_path(call_id).open("rb") as log:
            while (result := await self.workspace.wait_for_result(call_id, _PAUSE_S)) is None:
                show(log.read(_CHUNK_BYTES))
            while chunk := log.read(_CHUNK_BYTES):
                show(chunk)
        return result


@asynccontextmanager
async def open_sandbox_command(
    options: Options, line: str, tier: Tier, timeout_s: float | None, tell: Callable[[str], Awaitable[None]]
) -> AsyncIterator[SandboxCommand]:
    """Open a workspace for one command line, which is removed at the end.

    Without `timeout_s` the worker's own time limit holds.

    What `[env] deps` names is installed first, as for a run; `tell` hears of it.

    Raises:
        OrchestrateError: the repository cannot be worked on.
    """
    project = await to_thread.run_sync(load_project_context, options)
    hands_settings = project.config.hands
    command = ShellCommand(
        line=line,
        tier=tier,
        timeout_s=timeout_s or hands_settings.command_timeout_s,
        output_bytes=hands_settings.output_mb * 1024 * 1024,
    )
    grant = build_grant(project.config)
    grant = grant.model_copy(update={"ceiling": max(grant.ceiling, tier)})
    redactor = await to_thread.run_sync(build_redactor, project.config)
    head, state = CommitId(project.repository.read_head_commit()), project.state.path
    async with AsyncExitStack() as stack:
        until_end = stack.enter_context(ExitStack())
        deps = project.config.env.deps
        installation = (project.repository, state, state / DEPS_DIRECTORY, head, tell, until_end)
        grant = await install_dependencies(grant, deps, *installation)
        hands = await stack.enter_async_context(open_local_hands(project.repository, state, grant, redactor=redactor))
        for notice in hands.notices:
            await tell(notice)
        workspace = await hands.open_workspace(head, Purpose("hands exec"))
        explanation = await _explain_policy(hands, workspace, command, project.repository.root)
        yield SandboxCommand(workspace, command, explanation)


async def _explain_policy(
    hands: LocalHands, workspace: LocalWorkspace, command: ShellCommand, repository: Path
) -> PolicyExplanation:
    policy = await hands.resolve_tier_policy(command.tier)
    places = []
    for mount in workspace.mounts:
        places.append(MountPoint(path=mount.dest, kind=mount.kind, source=mount.source))
    return PolicyExplanation(
        repository=str(repository),
        policy=policy.sha,
        unsafe=not policy.is_confined,
        in_words=hands.describe_policy(policy),
        variables=hands.build_environment(command, policy),
        places=tuple(places),
        rules=policy.model_dump(mode="json"),
    )
