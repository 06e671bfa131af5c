"""Hands on this host: the default. Opens workspaces, and runs their commands in a sandbox that was tried first."""

import hashlib
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack, asynccontextmanager, closing
from pathlib import Path
from typing import NamedTuple

import anyio
from anyio import to_thread
from anyio.abc import TaskGroup

from orchestrator.domain.ids import CommitId
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.sandbox.tier import Tier
from orchestrator.errors import EnvironmentProblem
from orchestrator.hands.execution.command_slots import CommandSlots, count_command_slots
from orchestrator.hands.files.session_folder import open_session, remove_old_logs, run_orphan_reaper
from orchestrator.hands.files.shadow_git import ShadowOrigin, read_origin
from orchestrator.hands.network.registries import RegistrySource
from orchestrator.hands.policy import SandboxGrant, SandboxPolicy, format_policy
from orchestrator.hands.policy_resolution import (
    SelectedBackend,
    find_missing_sandbox,
    resolve_policy,
    select_backend,
)
from orchestrator.hands.private_copies.sharing_plan import SharingPlan, prepare_sharing
from orchestrator.hands.private_copies.stale_outputs import select_stale_outputs
from orchestrator.hands.refusals import convert_host_errors
from orchestrator.hands.sandbox.backend import WORKTREES_FOLDER, HostPaths
from orchestrator.hands.sandbox.program_search import BackendContext
from orchestrator.hands.toolchain.interpreters import compute_fingerprint
from orchestrator.hands.watch.change_watch import ChangeWatcher
from orchestrator.hands.watch.checkout_reports import CheckoutReports
from orchestrator.hands.workspace import LocalWorkspace
from orchestrator.hands.workspace_host import WorkspaceHost
from orchestrator.ports.hands import ShellCommand
from orchestrator.redact.redactor import PATTERN_REDACTOR, Redactor
from worktrees.checkouts.change_reports import ChangeReports
from worktrees.checkouts.pool import WorktreePool
from worktrees.diffs.tree_changes import compare_trees
from worktrees.repositories.repository import GitRepository

_DESIGN = "4"
"""The sandbox's version, to be increased when it changes in a way that may change what a command does."""


class LocalHands:
    """This host's workspaces; implements `orchestrator.ports.hands.Hands`. Made by `open_local_hands`.

    `refusal_reason` says why commands are refused here, with its remedy; it is None when they run under `policy`.
    `notices` are notes on the policy for people. `environment_hash` stands for policy, tool chains and variables.
    """

    def __init__(self, host: WorkspaceHost, selected: SelectedBackend, notices: tuple[str, ...] = ()) -> None:
        policy = host.policy
        self._host = host
        self._selected = selected
        self.notices = notices
        self.policy = policy
        self.refusal_reason = selected.refusal
        self._opened: list[LocalWorkspace] = []
        tools = [*map(Path, (*policy.read_only, *policy.programs))]
        tools += (base / name for name, base in host.shared.items())
        text = f"{_DESIGN}\n{policy.sha}\n{compute_fingerprint(tools)}\n"
        self.environment_hash = hashlib.sha256(text.encode()).hexdigest()

    @property
    def repository(self) -> GitRepository:
        """The repository that workspaces are of."""
        return self._host.pool.repository

    @property
    def slots(self) -> int:
        """The number of commands that run at once."""
        return self._host.slots.total

    @property
    def redactor(self) -> Redactor:
        """The redactor that cleans every log."""
        return self._host.redactor

    @property
    def policy_summary(self) -> Mapping[str, str]:
        """The policy in words, for `doctor` and reports."""
        return self.describe_policy(self.policy)

    def describe_policy(self, policy: SandboxPolicy) -> Mapping[str, str]:
        """Return a policy of this host in words, for example that of another tier."""
        commands = self.refusal_reason or f"run, {self._host.slots.total} at a time"
        backend = self._selected.backend
        unbound = {"not bound": "; ".join(self.notices)} if self.notices else {}
        words = format_policy(policy, backend.description if backend else "", commands)
        return {**words, **unbound, **self._selected.facts}

    def build_environment(self, command: ShellCommand, policy: SandboxPolicy) -> Mapping[str, str]:
        """Return all variables that a command sees when it starts; none where commands are refused."""
        if self._selected.backend:
            return self._selected.backend.build_environment(command, registries=policy.registries)
        return {}

    async def resolve_tier_policy(self, tier: Tier) -> SandboxPolicy:
        """Return the policy of a tier; at tier 2 with the registries, which are looked up first."""
        return await self._host.resolve_tier_policy(tier)

    async def open_workspace(self, commit: CommitId, purpose: Purpose) -> LocalWorkspace:
        """Open a clean workspace at a commit.

        Raises:
            EnvironmentProblem: it could not be prepared.
        """
        with convert_host_errors(f"No workspace could be prepared at {commit[:12]}"):
            await self._host.include_objects(commit)
            stale = await self._find_stale_outputs(commit)
            worktree = await self._host.pool.lease_worktree(commit)
        workspace = LocalWorkspace(self._host, worktree, purpose.text, stale)
        self._opened = [*(one for one in self._opened if one.is_open), workspace]
        return workspace

    async def _find_stale_outputs(self, commit: CommitId) -> frozenset[str]:
        """Return the shared outputs that may have been built from what a commit changed against the checkout's own."""
        outputs = self._host.sharing.outputs
        if not outputs:
            return frozenset()
        repository = self._host.pool.repository
        changes = await compare_trees(repository.git, repository.read_head_commit(), commit)
        return select_stale_outputs(outputs, [change.path for change in changes])

    async def close(self) -> None:
        """Close every workspace that is still open."""
        for workspace in self._opened:
            await workspace.close()


@asynccontextmanager
async def open_local_hands(
    repository: GitRepository,
    state: Path,
    grant: SandboxGrant | None = None,
    slots: int | None = None,
    home: Path | None = None,
    environ: Mapping[str, str] | None = None,
    redactor: Redactor = PATTERN_REDACTOR,
    checkout: Path | None = None,
) -> AsyncIterator[LocalHands]:
    """Open this host's hands while the block lasts, in whose thread all dies that they started.

    `state` is a directory of our own, `slots` bounds the commands at once (one per core), `redactor` cleans every log.
    Commands find a workspace at the path `checkout`, by default that of the repository's own checkout.

    Raises:
        UsageProblem: the grant names a directory that is missing or may not be bound.
        EnvironmentProblem: the state directory or the repository cannot be used.
    """
    grant, environ = grant or SandboxGrant(), os.environ if environ is None else environ
    with ExitStack() as stack:
        session = await _open_session_folder(state, stack)
        host_paths = HostPaths(checkout or repository.root, home or Path.home(), state)
        selected, policy, origin, notices = await _prepare_policy(repository, grant, host_paths, environ, session)
        host = WorkspaceHost(
            sharing=await _prepare_sharing(policy, host_paths, session),
            watcher=(watcher := _open_watcher(policy, stack)),
            pool=build_worktree_pool(repository, state, policy.uid, watcher.reports),
            checkout=host_paths.repository,
            policy=policy,
            ceiling=grant.ceiling,
            registries=RegistrySource(grant.registries, host_paths, environ),
            selected=selected,
            origin=origin,
            slots=CommandSlots(count_command_slots(slots)),
            session=session,
            logs=state / "logs" / session.name,
            redactor=redactor,
        )
        async with _run_task_group(LocalHands(host, selected, notices), host.tasks) as hands:
            yield hands


class _PreparedPolicy(NamedTuple):
    """A policy that names its backend, what shadows take from the repository, and notices for people."""

    selected: SelectedBackend
    policy: SandboxPolicy
    origin: ShadowOrigin
    notices: tuple[str, ...]


async def _prepare_policy(
    repository: GitRepository, grant: SandboxGrant, host_paths: HostPaths, environ: Mapping[str, str], session: Path
) -> _PreparedPolicy:
    with convert_host_errors(f"The repository {repository.root} cannot be read"):
        resolved = await resolve_policy(repository, grant, host_paths, environ)
        is_mounted = resolved.policy.is_confined and resolved.policy.tier > Tier.FILES
        copies = host_paths.state / "borrowed" if is_mounted else None
        origin = await read_origin(repository, copies)
    selected = await select_backend(BackendContext(resolved.policy, host_paths, environ, session), grant.backend)
    name = selected.backend.name if selected.backend else ""
    policy = resolved.policy.model_copy(update={"backend": name})
    return _PreparedPolicy(selected, policy, origin, resolved.notices)


async def _prepare_sharing(policy: SandboxPolicy, host_paths: HostPaths, session: Path) -> SharingPlan:
    left_out = [host_paths.repository / name for name in policy.left_out]
    shared = {name: Path(base) for name, base in policy.shared.items()}
    with convert_host_errors("What workspaces borrow of your checkout cannot be read"):
        return await to_thread.run_sync(prepare_sharing, shared, policy.writable, left_out, session / "fronts")


async def preview_policy(
    repository: GitRepository, state: Path, grant: SandboxGrant, environ: Mapping[str, str] | None = None
) -> SandboxPolicy:
    """Return the policy that commands will run under, where programs of a sandbox are there. Starts no sandbox.

    Who opens hands has the self-test made: whoever runs commands has to have seen that the walls hold.

    Raises:
        UsageProblem: the grant names a directory that is missing or may not be bound.
        EnvironmentProblem: no sandbox is installed, or the state directory or the repository cannot be used.
    """
    environ = os.environ if environ is None else environ
    host_paths = HostPaths(repository.root, Path.home(), state)
    with ExitStack() as stack:
        with convert_host_errors(f"The state directory {state} cannot be used (name another with --state DIR)"):
            session = await to_thread.run_sync(stack.enter_context, open_session(state))
        with convert_host_errors(f"The repository {repository.root} cannot be read"):
            resolved = await resolve_policy(repository, grant, host_paths, environ)
        refusal = await find_missing_sandbox(
            BackendContext(resolved.policy, host_paths, environ, session), grant.backend
        )
    if refusal:
        raise EnvironmentProblem(refusal)
    return resolved.policy


async def _open_session_folder(state: Path, stack: ExitStack) -> Path:
    with convert_host_errors(f"The state directory {state} cannot be used (name another with --state DIR)"):
        await to_thread.run_sync(remove_old_logs, state / "logs")
        session = await to_thread.run_sync(stack.enter_context, open_session(state))
        stack.enter_context(run_orphan_reaper(session))
        return session


@asynccontextmanager
async def _run_task_group(hands: LocalHands, tasks: TaskGroup) -> AsyncIterator[LocalHands]:
    """Run the task group, and leave it without the block's exception, which would come out wrapped in a group."""
    await tasks.__aenter__()
    try:
        yield hands
    finally:
        with anyio.CancelScope(shield=True):
            await hands.close()
            tasks.cancel_scope.cancel()
        await tasks.__aexit__(None, None, None)


def _open_watcher(policy: SandboxPolicy, stack: ExitStack) -> ChangeWatcher:
    """Watch the checkouts; without reports for the pool where commands run in the open: those could be evaded."""
    reports = stack.enter_context(CheckoutReports()) if policy.is_confined else None
    return stack.enter_context(closing(ChangeWatcher(reports)))


def build_worktree_pool(
    repository: GitRepository, state: Path, owner: int | None = None, reports: ChangeReports | None = None
) -> WorktreePool:
    """Return the pool of worktrees in this state directory; `owner` is who commands run as, if not ourselves."""
    return WorktreePool(repository, state / WORKTREES_FOLDER, owner, reports)
