"""The tiers that tasks' commands run at, and asking the user for a higher one."""

from typing import Protocol

from orchestrator.domain.chat import Role
from orchestrator.domain.ids import TaskId
from orchestrator.domain.sandbox.tier import Tier


class TierGrants(Protocol):
    """The tiers that the user grants, as they stand: a grant may come while a task is worked on."""

    def get_tier(self, role: Role, task: TaskId) -> Tier:
        """Return the tier of a role's commands in a task."""

    def get_ceiling(self) -> Tier:
        """Return the highest tier that a worker may ask for."""

    async def request_tier(self, task: TaskId, tier: Tier, reason: str) -> str:
        """Put a wish for a higher tier into the user's inbox.

        Returns:
            what became of it, in words for the model that asked.
        """


class _AsShipped:
    """Planners read, workers run commands, and nobody may ask for more."""

    def get_tier(self, role: Role, task: TaskId) -> Tier:
        if role in {"worker", "arbiter"}:
            return Tier.COMMANDS
        return Tier.FILES

    def get_ceiling(self) -> Tier:
        return Tier.FILES

    async def request_tier(self, task: TaskId, tier: Tier, reason: str) -> str:
        return "Refused: there is nobody to ask."


DEFAULT_TIER_GRANTS = _AsShipped()
"""The ladder where nobody can be asked: tests of a role on its own, replays of one answer."""
