"""A planner's decision on one wish for a grant: one short conversation, recorded as an event."""

from typing import Literal

from pydantic import Field

from orchestrator.agent.session_spec import SessionSpec, index_tools
from orchestrator.agent.tools.harness import build_submit_tool
from orchestrator.domain.event.work import GrantDecided
from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.ids import build_grant_session_id
from orchestrator.domain.run.grant import format_grants
from orchestrator.domain.run.task import Exit
from orchestrator.llm.errors import ModelError
from orchestrator.ports.roles import GrantBrief, SessionFailure
from prompts import fence_text
from roles.brief_text import format_bullets
from roles.role_context import RoleContext


class GrantAnswer(FrozenModel):
    """A planner's answer."""

    decision: Literal["allow", "refuse"] = Field(description="Your decision.")
    reason: str = Field(description="Why, in one sentence.")


async def decide_grant(around: RoleContext, brief: GrantBrief) -> GrantDecided:
    """Return the planner's decision, which is in the ledger by then; where no model answers it is no."""
    try:
        answer = await _ask_planner(around, brief)
    except ModelError as problem:
        answer = SessionFailure(exit=Exit.MALFORMED, detail=str(problem))
    if isinstance(answer, SessionFailure):
        answer = GrantAnswer(decision="refuse", reason=f"no planner answered: {answer.detail}"[:300])
    decided = GrantDecided(
        task=brief.task.id,
        number=brief.number,
        grants=brief.wanted,
        why=brief.why,
        is_allowed=answer.decision == "allow",
        reason=answer.reason,
        by="planner",
    )
    await around.ledger.append(decided)
    return decided


async def _ask_planner(around: RoleContext, brief: GrantBrief) -> GrantAnswer | SessionFailure:
    prompt, task = around.prompts.load_prompt("planner-grant"), brief.task
    spec = SessionSpec(
        id=build_grant_session_id(task.id, brief.number),
        role="planner",
        task=task.id,
        settings=around.config.roles.planner,
        prompt=prompt.sha,
        system=prompt.render_text(),
        brief=around.prompts.load_prompt("planner-grant-brief").render_text(
            task=task.id,
            title=task.title,
            outcome=task.outcome,
            acceptance=format_bullets(task.acceptance, "- the outcome holds"),
            paths=", ".join(task.paths) or "whatever the outcome needs",
            grants=format_grants(task.grants) or "nothing of that kind",
            wanted=format_grants(brief.wanted, "; "),
            words=fence_text("worker", brief.why),
        ),
        tools=index_tools(build_submit_tool("answer_grant", "Give your decision and end.", GrantAnswer)),
    )
    return await around.hold_session(spec, GrantAnswer)
