"""Hands on this host: the default. Opens workspaces, and runs their commands in a sandbox that was tried first."""

import hashlib
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack, asynccontextmanager
from os.path import normpath
from pathlib import Path

import anyio
from anyio import to_thread

from orchestrator.domain.ids import CommitId
from orchestrator.errors import EnvironmentProblem
from orchestrator.hands import shadow, toolchain
from orchestrator.hands.fingerprint import fingerprint
from orchestrator.hands.places import Surroundings
from orchestrator.hands.policy import Grant, Limits, Policy, Tier
from orchestrator.hands.probe import ProbeReport, probe, refused
from orchestrator.hands.programs import ProgramMissing, Programs, find_programs
from orchestrator.hands.sandbox import Sandbox, build_sandbox
from orchestrator.hands.session import drop_old_logs, open_session
from orchestrator.hands.share import find_shared
from orchestrator.hands.workspace import Host, LocalWorkspace
from worktrees.errors import GitError
from worktrees.pool import Pool
from worktrees.repository import Repository

_DESIGN = "1"
"""Raised when the sandbox itself changes in a way that may change what a command does."""


class LocalHands:
    """This host's workspaces; implements `orchestrator.ports.hands.Hands`. Made by `local_hands`."""

    def __init__(self, host: Host, policy: Policy, report: ProbeReport | None, programs: Programs | None) -> None:
        self._host = host
        self._policy = policy
        self._report = report
        self._programs = programs
        self._opened: list[LocalWorkspace] = []
        self._environment = _environment(host, policy)

    @property
    def refusal(self) -> str | None:
        """Why commands are refused here and how to mend it; None when they run."""
        return self._host.refusal

    @property
    def environment(self) -> str:
        """A hash of policy, tool chains and variables."""
        return self._environment

    @property
    def policy(self) -> Policy:
        """What commands run under."""
        return self._policy

    @property
    def described(self) -> Mapping[str, str]:
        """The policy in words, for `doctor` and reports."""
        facts = self._report.facts if self._report else {}
        return {
            "tier": f"{int(self._policy.tier)} ({_TIERS[self._policy.tier]})",
            "commands": self.refusal or f"run, {self._host.slots.total_tokens} at a time",
            "sandbox": _sandbox_words(self._programs, self._policy.uid),
            **facts,
            "read-only": ", ".join(self._policy.read_only) or "nothing besides the system",
            "shared": ", ".join(self._policy.shared) or "nothing",
            "path": ":".join(self._policy.path),
            "variables": ", ".join(sorted(self._policy.env)) or "none of yours",
            "limits": _limit_words(self._policy.limits),
        }

    async def open(self, commit: CommitId, purpose: str) -> LocalWorkspace:
        """A clean workspace at a commit.

        Raises:
            EnvironmentProblem: it could not be prepared.
        """
        try:
            worktree = await self._host.pool.lease(commit)
        except (GitError, OSError) as error:
            raise EnvironmentProblem(f"No workspace could be prepared at {commit[:12]}: {error}.") from error
        workspace = LocalWorkspace(self._host, worktree, purpose)
        self._opened.append(workspace)
        return workspace

    async def close(self) -> None:
        """Close every workspace that is still open."""
        for workspace in self._opened:
            await workspace.close()


@asynccontextmanager
async def local_hands(
    repository: Repository,
    state: Path,
    grant: Grant | None = None,
    slots: int | None = None,
    home: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> AsyncIterator[LocalHands]:
    """Hands on this host while the block lasts; everything they started is dead afterwards.

    `state` is a directory of our own, outside the repository, for worktrees, logs and what lives as long as the
    block. `slots` bounds the commands that run at the same time (default: one per core).

    Raises:
        UsageProblem: the grant names a directory that is missing or may not be bound.
        EnvironmentProblem: the state directory or the repository cannot be used.
    """
    grant, environ = grant or Grant(), os.environ if environ is None else environ
    with ExitStack() as stack:
        session = await _session(state, stack)
        around = Surroundings(repository.root, home or Path.home(), state)
        policy, origin = await _resolve(repository, grant, around, environ)
        sandbox, report, programs = await _sandbox(policy, around, environ, session)
        tasks = anyio.create_task_group()
        await tasks.__aenter__()
        host = Host(
            repository=repository.root,
            pool=worktree_pool(repository, state, policy.uid),
            sandbox=sandbox,
            refusal=_refusal(policy, report),
            origin=origin,
            shared=policy.shared,
            owner=policy.uid,
            slots=anyio.CapacityLimiter(slots or len(os.sched_getaffinity(0))),
            tasks=tasks,
            session=session,
            logs=state / "logs" / session.name,
        )
        hands = LocalHands(host, policy, report, programs)
        try:
            yield hands
        finally:
            with anyio.CancelScope(shield=True):
                await hands.close()
                tasks.cancel_scope.cancel()
            await tasks.__aexit__(None, None, None)  # without the block's own exception, which is not to be wrapped


def worktree_pool(repository: Repository, state: Path, owner: int | None = None) -> Pool:
    """The pool that all runs of a repository share; `owner` is the user that commands run as when we are root."""
    return Pool(repository, state / "worktrees", owner)


async def _session(state: Path, stack: ExitStack) -> Path:
    try:
        await to_thread.run_sync(drop_old_logs, state / "logs")
        return await to_thread.run_sync(stack.enter_context, open_session(state))
    except OSError as error:
        raise EnvironmentProblem(f"The state directory {state} cannot be used: {error}.") from error


async def _resolve(
    repository: Repository, grant: Grant, around: Surroundings, environ: Mapping[str, str]
) -> tuple[Policy, shadow.Origin]:
    own = [p for one in grant.read_only if (p := _within(around.repository, one.path)) is not None]
    try:
        shared = await find_shared(repository, (*grant.share, *own))
        origin = await shadow.read_origin(repository)
    except (GitError, OSError) as error:
        raise EnvironmentProblem(f"The repository {repository.root} cannot be read: {error}.") from error
    tools = await to_thread.run_sync(toolchain.resolve, grant.read_only, around, shared, environ)
    return _policy(grant, tools, shared), origin


def _policy(grant: Grant, tools: toolchain.ToolChain, shared: tuple[str, ...]) -> Policy:
    active = {"VIRTUAL_ENV": tools.virtual_env} if tools.virtual_env else {}
    return Policy(
        tier=grant.tier,
        read_only=tuple(map(str, tools.read_only)),
        masked=tuple(map(str, tools.masked)),
        path=tools.path,
        env={**active, **grant.env},
        shared=shared,
        limits=grant.limits,
        uid=grant.uid if os.geteuid() == 0 else None,
    )


def _within(root: Path, text: str) -> str | None:
    """A given directory inside the repository, as a pattern for what is shared."""
    place = Path(normpath(root / text))
    return f"/{place.relative_to(root)}" if place.is_relative_to(root) and place != root else None


async def _sandbox(
    policy: Policy, around: Surroundings, environ: Mapping[str, str], session: Path
) -> tuple[Sandbox | None, ProbeReport | None, Programs | None]:
    """The sandbox if it holds, what the self-test said, and the programs it is built with."""
    if policy.tier == Tier.FILES:
        return None, None, None
    try:
        untrusted = (around.repository, around.state)
        programs = await to_thread.run_sync(find_programs, environ, untrusted, policy.uid is not None)
        sandbox = await to_thread.run_sync(build_sandbox, policy, programs, around, session / "fixtures")
    except ProgramMissing as error:
        return None, refused(str(error)), None
    except OSError as error:
        return None, refused(f"The sandbox could not be prepared: {error}"), None
    report = await probe(sandbox, session / "probe")
    return (sandbox if report.refusal is None else None), report, programs


def _refusal(policy: Policy, report: ProbeReport | None) -> str | None:
    if report is None:
        return f"Commands are refused: the policy grants tier {int(policy.tier)}, {_TIERS[policy.tier]}."
    return report.refusal


def _environment(host: Host, policy: Policy) -> str:
    directories = [*map(Path, policy.read_only), *(host.repository / name for name in policy.shared)]
    return hashlib.sha256(f"{_DESIGN}\n{policy.sha}\n{fingerprint(directories)}\n".encode()).hexdigest()


_TIERS = {Tier.FILES: "files only", Tier.COMMANDS: "commands without network"}


def _sandbox_words(programs: Programs | None, uid: int | None) -> str:
    if programs is None:
        return "none"
    return f"{programs.version} at {programs.bwrap}, " + ("as yourself" if uid is None else f"as user {uid}")


def _limit_words(limits: Limits) -> str:
    return (
        f"{limits.processes} processes, {limits.open_files} open files, {_mib(limits.file_bytes)} a file, "
        f"{_mib(limits.output_bytes)} of output, {_mib(limits.address_space_bytes)} of memory a process, "
        f"{_mib(limits.tmpfs_bytes)} in each of home, /tmp and /dev/shm"
    )


def _mib(size: int | None) -> str:
    return "no limit" if size is None else f"{size // 1024**2:,} MiB"
