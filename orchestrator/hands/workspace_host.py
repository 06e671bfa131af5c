"""The common parts of all workspaces of this process."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
from anyio.abc import TaskGroup

from orchestrator.domain.sandbox.tier import Tier
from orchestrator.hands.execution.command_slots import CommandSlots
from orchestrator.hands.execution.program_grants import build_granted_registries
from orchestrator.hands.files import shadow_git
from orchestrator.hands.network.registries import RegistrySource
from orchestrator.hands.policy import Registries, SandboxPolicy
from orchestrator.hands.policy_resolution import SelectedBackend
from orchestrator.hands.private_copies.sharing_plan import SharingPlan
from orchestrator.hands.sandbox.backend import Backend
from orchestrator.hands.watch.change_watch import ChangeWatcher
from orchestrator.ports.hands import ShellCommand
from orchestrator.redact.redactor import PATTERN_REDACTOR, Redactor
from worktrees.checkouts.pool import WorktreePool


@dataclass(frozen=True)
class WorkspaceHost:
    """Common parts of all workspaces of this process. `backend` is None exactly where `refusal` says why.

    `checkout` is the path at which commands find a workspace.
    """

    sharing: SharingPlan
    pool: WorktreePool
    checkout: Path
    policy: SandboxPolicy
    ceiling: Tier
    registries: RegistrySource
    selected: SelectedBackend
    origin: shadow_git.ShadowOrigin
    slots: CommandSlots
    session: Path
    logs: Path
    watcher: ChangeWatcher
    redactor: Redactor = PATTERN_REDACTOR
    tasks: TaskGroup = field(default_factory=anyio.create_task_group)
    _tier_policies: dict[Tier, SandboxPolicy] = field(default_factory=dict, init=False, repr=False)
    """The policies of tiers as they were last resolved: every call of a tool asks for the hash of one."""

    @property
    def backend(self) -> Backend | None:
        """The backend that runs commands; None where none does."""
        return self.selected.backend

    @property
    def refusal(self) -> str | None:
        """The reason that commands are refused; None where they run."""
        return self.selected.refusal

    @property
    def shared(self) -> Mapping[str, Path]:
        """Borrowed paths by name, each with the directory in which it lies under the same name."""
        return {name: Path(base) for name, base in self.policy.shared.items()}

    async def include_objects(self, oid: str) -> None:
        """Copy the objects that a commit or tree reaches, if workspaces see only copies of the repository's objects."""
        if self.origin.copy:
            await self.origin.copy.copy_reachable([oid])

    async def resolve_tier_policy(self, tier: Tier) -> SandboxPolicy:
        """Return the policy of a tier; the registries are looked up when tier 2 is first asked for."""
        found = await self._find_tier_registries(tier)
        resolved = self._tier_policies.get(tier)
        if resolved is None or resolved.registries is not found:
            resolved = self.policy.model_copy(update={"tier": tier, "registries": found})
            self._tier_policies[tier] = resolved
        return resolved

    async def _find_tier_registries(self, tier: Tier) -> Registries | None:
        return await self.registries.get_registries() if tier == Tier.REGISTRIES <= self.ceiling else None

    async def find_registries(self, command: ShellCommand) -> Registries | None:
        """Return what a command reaches at tier 2: the hosts of its own grant, or else the registries."""
        if command.tier == Tier.REGISTRIES and command.grant is not None and command.grant.hosts is not None:
            return build_granted_registries(command.grant.hosts)
        return await self._find_tier_registries(command.tier)

    @asynccontextmanager
    async def hold_place(self, command: ShellCommand) -> AsyncIterator[None]:
        """Hold a place for a command that is to run while the block lasts; one in the background needs none."""
        if command.is_background:
            yield
            return
        async with self.slots.hold_slot(is_agent=command.is_agent):
            yield
