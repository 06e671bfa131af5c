"""The request_tier tool: a wish, which only the user can grant."""

from pydantic import Field

from orchestrator.agent.tools.base import Tool, ToolResult, Word
from orchestrator.domain.base import Frozen
from orchestrator.domain.ids import TaskId
from orchestrator.domain.tier import Tier
from orchestrator.ports.ladder import Ladder


class RequestTier(Frozen):
    """Arguments of `request_tier`."""

    tier: Tier = Field(description="The tier that is needed, by number.")
    reason: Word = Field(description="What cannot be done without it, for the person who decides.")


def tier_tool(ladder: Ladder, task: TaskId) -> Tool[RequestTier]:
    """Asks for a higher tier; what it returns grants nothing."""

    async def request(arguments: RequestTier) -> ToolResult:
        return ToolResult(await ladder.request(task, arguments.tier, arguments.reason))

    offered = "; ".join(
        f"{int(tier)}: {tier.words}" for tier in Tier if ladder.tier("worker", task) < tier <= ladder.ceiling()
    )
    words = f"Ask the user to let your commands reach more. Tiers: {offered}."
    return Tool("request_tier", words, RequestTier, request)
