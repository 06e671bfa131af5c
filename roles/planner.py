"""The planner: looks at the repository and submits a plan, or a handoff when its slice is finished."""

from collections.abc import Awaitable, Callable
from functools import partial

from orchestrator.agent.session_spec import SessionSpec, index_tools, measure_fixed_chars
from orchestrator.agent.tools.base import AnyTool
from orchestrator.agent.tools.files import build_list_tool, build_read_tool, build_search_tool
from orchestrator.agent.tools.harness import build_recall_tool, build_submit_tool
from orchestrator.domain.budget.accounts import Accounts
from orchestrator.domain.event.work import GrantDecided, PlanRefused
from orchestrator.domain.ids import SessionId, build_planning_session_id
from orchestrator.domain.ownership.claims import check_claims, describe_contradiction, list_own_contradictions
from orchestrator.domain.policy.rules import PolicyActor
from orchestrator.domain.run.earlier_tasks import list_earlier_tasks
from orchestrator.domain.run.person_review import PersonReview
from orchestrator.domain.run.plan import KeepPlan, Plan, check_plan
from orchestrator.domain.run.state import RunState
from orchestrator.domain.run.task import Handoff
from orchestrator.domain.sandbox.tier import Tier
from orchestrator.ports.hands import Workspace
from orchestrator.ports.roles import GrantBrief, PlanningBrief, SessionFailure
from prompts import fence_text
from roles.brief_text import format_review, format_slice
from roles.codebase_brief import CodebaseBrief, build_looking_tools, describe_codebase
from roles.command_tools import build_command_tools
from roles.grant_decisions import decide_grant
from roles.planner_brief import render_planner_brief
from roles.role_context import RoleContext
from roles.session_tries import SessionTry, hold_with_fresh_tries


class ModelPlanner:
    """A `ports.Planner` that asks the model configured under [roles.planner]."""

    def __init__(self, around: RoleContext) -> None:
        self._around = around

    async def plan_slice(
        self, brief: PlanningBrief, workspace: Workspace
    ) -> Plan | KeepPlan | Handoff | SessionFailure:
        """Return a checked plan, the word that it stays, a handoff, or how the last conversation ended without any."""
        texts = (brief.goal, format_slice(brief.task), *brief.task.paths)
        shown = await describe_codebase(self._around, brief.commit, texts, has_baseline=brief.has_baseline)
        build_spec = partial(self._build_spec, brief, shown, workspace)
        settings = self._around.config.roles.planner
        return await hold_with_fresh_tries(self._around, settings, build_spec, Plan, KeepPlan, Handoff)

    def _build_spec(
        self, brief: PlanningBrief, shown: CodebaseBrief, workspace: Workspace, current: SessionTry
    ) -> SessionSpec:
        prompt = self._around.prompts.load_prompt("planner")
        limits = brief.limits
        tier = partial(self._around.tier_grants.get_tier, "planner", brief.task.id)
        tools = self._build_tools(brief, workspace, tier)
        system = prompt.render_text(max_children=str(limits.max_children), max_depth=str(limits.max_depth))
        prompts, workers = self._around.prompts, self._around.config.roles.worker
        render = partial(render_planner_brief, brief, shown, prompts, workers)
        text, before = (
            current.render_brief(render, measure_fixed_chars(system + current.settings.instructions, tools)),
            None,
        )
        if brief.review is not None:
            text, before = self._open_review(brief, brief.review, text, current)
        return SessionSpec(
            id=build_planning_session_id(brief.task.id, brief.iteration, brief.round, current.number),
            role="planner",
            task=brief.task.id,
            settings=current.settings,
            prompt=prompt.sha,
            system=system,
            brief=current.add_explanation(text, self._around.prompts.load_prompt("planner-again")),
            continues=before,
            tools=tools,
            workspace=workspace,
            tier=tier,
        )

    def _build_tools(self, brief: PlanningBrief, workspace: Workspace, tier: Callable[[], Tier]) -> dict[str, AnyTool]:
        settings = self._around.config.roles.planner
        return index_tools(
            build_list_tool(workspace),
            build_search_tool(workspace),
            build_read_tool(workspace),
            *build_looking_tools(self._around, brief.commit),
            *build_command_tools(
                self._around, settings, workspace, tier, actor=PolicyActor(role="planner"), is_writing=False
            ),
            build_recall_tool(self._around.ledger),
            *self._around.build_memory_tools(brief.task.id),
            build_submit_tool("submit_plan", "Submit the tasks of your slice.", Plan, self._checker(brief)),
            *_build_waiting_tools(brief),
            build_submit_tool(
                "finish",
                "Your slice needs no more work: report to whoever asked.",
                Handoff,
                self._handoff_checker(brief),
            ),
        )

    async def decide_grant(self, brief: GrantBrief) -> GrantDecided:
        """Return the decision on a wish for grants; it is in the ledger by then."""
        return await decide_grant(self._around, brief)

    def _checker(self, brief: PlanningBrief) -> Callable[[Plan], Awaitable[tuple[str, ...]]]:
        async def find_plan_problems(plan: Plan) -> tuple[str, ...]:
            accounts = Accounts(self._around.ledger.state, self._around.config.budget)
            left = dict(zip(("left_usd", "left_tokens"), accounts.get_remaining_budget(brief.task.id), strict=True))
            earlier = list_earlier_tasks(self._around.ledger.state, brief.task.id)
            run = self._around.ledger.state
            problems = check_plan(plan, brief.limits.model_copy(update=left), earlier)
            found = (*problems, *check_claims(plan, run, brief.task.id))
            if found:
                await self._around.ledger.append(PlanRefused(task=brief.task.id, round=brief.round, problems=found))
            return found

        return find_plan_problems

    def _handoff_checker(self, brief: PlanningBrief) -> Callable[[Handoff], Awaitable[tuple[str, ...]]]:
        async def find_open_contradictions(handoff: Handoff) -> tuple[str, ...]:
            return tuple(map(describe_contradiction, list_own_contradictions(self._around.ledger.state, brief.task.id)))

        return find_open_contradictions

    def _open_review(
        self, brief: PlanningBrief, review: PersonReview, whole: str, current: SessionTry
    ) -> tuple[str, SessionId | None]:
        """Return what a planner is told of a review, and the conversation to go on from unless that fills the context.

        Without that conversation it is told the `whole` brief again.
        """
        words = fence_text("person", format_review(review))
        text = self._around.prompts.load_prompt("planner-sent-back").render_text(words=words)
        if current.overflow_count:
            return f"{whole}\n\n{text}", None
        return text, _find_previous_session(self._around.ledger.state, brief)


def _find_previous_session(state: RunState, brief: PlanningBrief) -> SessionId:
    """Return the conversation in which the plan was made that was sent back: the last try of its round."""
    build_id = partial(build_planning_session_id, brief.task.id, brief.iteration, brief.round - 1)
    number = 1
    while build_id(number + 1) in state.sessions:
        number += 1
    return build_id(number)


def _build_waiting_tools(brief: PlanningBrief) -> list[AnyTool]:
    """Return the tool by which a planner leaves its plan as it is; only where tasks of it are at work."""
    if not brief.under_way:
        return []
    description = "Your plan stays as it is while your other tasks are at work; you are asked again when they end."
    return [build_submit_tool("wait", description, KeepPlan)]
