"""The request_tier tool: a wish, which only the user can grant."""

from pydantic import Field

from orchestrator.agent.tools.base import CommandText, Tool, ToolResult
from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.ids import TaskId
from orchestrator.domain.sandbox.tier import Tier, ToolReach
from orchestrator.ports.tier_grants import TierGrants


class RequestTierArguments(FrozenModel):
    """Arguments of `request_tier`."""

    tier: Tier = Field(description="The tier that is needed, by number.")
    reason: CommandText = Field(description="What cannot be done without it, for the person who decides.")


def build_request_tier_tool(ladder: TierGrants, task: TaskId) -> Tool[RequestTierArguments]:
    """Return the tool that asks for a higher tier; what it answers grants nothing."""

    async def request_higher_tier(arguments: RequestTierArguments) -> ToolResult:
        return ToolResult(await ladder.request_tier(task, arguments.tier, arguments.reason))

    tiers = []
    for tier in Tier:
        if ladder.get_tier("worker", task) < tier <= ladder.get_ceiling():
            tiers.append(f"{int(tier)}: {tier.description}")
    description = f"Ask the user to let your commands reach more. Tiers: {'; '.join(tiers)}."
    return Tool("request_tier", description, RequestTierArguments, request_higher_tier, reach=ToolReach.TIER)
