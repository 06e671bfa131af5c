"""The planner: looks at the repository and submits a plan, or a handoff when its slice is finished."""

from collections.abc import Awaitable, Callable
from functools import partial

from orchestrator.agent.session_spec import SessionSpec, index_tools
from orchestrator.agent.tools.base import AnyTool
from orchestrator.agent.tools.files import build_list_tool, build_read_tool, build_search_tool
from orchestrator.agent.tools.harness import build_recall_tool, build_submit_tool
from orchestrator.domain.budget.accounts import Accounts
from orchestrator.domain.event.work import GrantDecided, PlanRefused
from orchestrator.domain.ids import SessionId, build_planning_session_id
from orchestrator.domain.ownership.claims import check_claims, describe_contradiction, list_own_contradictions
from orchestrator.domain.run.earlier_tasks import list_earlier_tasks
from orchestrator.domain.run.person_review import PersonReview
from orchestrator.domain.run.plan import KeepPlan, Plan, PlanLimits, check_plan
from orchestrator.domain.run.state import RunState
from orchestrator.domain.run.task import Handoff
from orchestrator.domain.text.money import format_exact_dollars
from orchestrator.ports.hands import Workspace
from orchestrator.ports.roles import GrantBrief, PlanningBrief, SessionFailure
from prompts import fence_text
from roles.brief_text import (
    cut_list,
    format_bullets,
    format_contract,
    format_decisions,
    format_planner_report,
    format_report_line,
    format_review,
    format_slice,
)
from roles.codebase_brief import CodebaseBrief, build_looking_tools, describe_codebase
from roles.command_tools import build_command_tools
from roles.grant_decisions import decide_grant
from roles.report_digest import ReportForm, format_report_digest
from roles.role_context import RoleContext
from roles.session_tries import SessionTry, hold_with_fresh_tries

_REPORT_FORM = ReportForm(format_planner_report, claims_label="report", hint="`recall` finds what is left out.")


class ModelPlanner:
    """A `ports.Planner` that asks the model configured under [roles.planner]."""

    def __init__(self, around: RoleContext) -> None:
        self._around = around

    async def plan_slice(
        self, brief: PlanningBrief, workspace: Workspace
    ) -> Plan | KeepPlan | Handoff | SessionFailure:
        """Return a checked plan, the word that it stays, a handoff, or how the last conversation ended without any."""
        texts = (brief.goal, format_slice(brief.task), *brief.task.paths)
        shown = await describe_codebase(self._around, brief.commit, texts)
        build_spec = partial(self._build_spec, brief, shown, workspace)
        settings = self._around.config.roles.planner
        return await hold_with_fresh_tries(self._around, settings, build_spec, Plan, KeepPlan, Handoff)

    def _build_spec(
        self, brief: PlanningBrief, shown: CodebaseBrief, workspace: Workspace, current: SessionTry
    ) -> SessionSpec:
        prompt = self._around.prompts.load_prompt("planner")
        limits = brief.limits
        tier = partial(self._around.tier_grants.get_tier, "planner", brief.task.id)
        text, before = current.render_brief(partial(self._brief, brief, shown)), None
        if brief.review is not None:
            text, before = self._open_review(brief, brief.review, text, current)
        return SessionSpec(
            id=build_planning_session_id(brief.task.id, brief.iteration, brief.round, current.number),
            role="planner",
            task=brief.task.id,
            settings=current.settings,
            prompt=prompt.sha,
            system=prompt.render_text(max_children=str(limits.max_children), max_depth=str(limits.max_depth)),
            brief=current.add_explanation(text, self._around.prompts.load_prompt("planner-again")),
            continues=before,
            tools=index_tools(
                build_list_tool(workspace),
                build_search_tool(workspace),
                build_read_tool(workspace),
                *build_looking_tools(self._around, brief.commit),
                *build_command_tools(
                    self._around, self._around.config.roles.planner, workspace, tier, is_writing=False
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
            ),
            workspace=workspace,
            tier=tier,
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

    def _brief(self, brief: PlanningBrief, shown: CodebaseBrief, limit: int) -> str:
        depth_left = brief.limits.max_depth - brief.limits.depth - 1
        variants = self._around.config.roles.worker.variants
        return self._around.prompts.load_prompt("planner-brief").render_text(
            task=brief.task.id,
            goal=brief.goal,
            slice=format_slice(brief.task),
            contract=format_contract(brief.contract, brief.met),
            limits=f"{brief.limits.max_children} tasks in a plan; {_depth(depth_left)}; {_describe_rounds(brief)}"
            f"{_budget(brief.limits)}",
            variants=format_bullets(
                (f"{name}: {settings.description or settings.model}" for name, settings in sorted(variants.items())),
                "- (only the usual worker)",
            ),
            earlier=f"{shown.render_text(limit)}\n\n{_render_history(brief, limit)}".strip(),
        )


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


def _describe_rounds(brief: PlanningBrief) -> str:
    if brief.rounds_left <= 0:
        return "the last time that you are asked, unless something of your slice lands after this"
    return f"asked at most {brief.rounds_left} more times, those after something has landed not counted"


def _depth(left: int) -> str:
    if left <= 0:
        return "no branch tasks, you stand at the deepest level"
    return f"{left} level{'s' if left > 1 else ''} of planners below you"


def _budget(limits: PlanLimits) -> str:
    """Return what the slice has left to spend, if anything bounds it."""
    left = []
    if limits.left_usd is not None and limits.has_prices:
        left.append(format_exact_dollars(limits.left_usd))
    if limits.left_tokens is not None:
        left.append(f"{limits.left_tokens:,} tokens")
    if left:
        return f"; your slice may still use {' and '.join(left)}, your own calls included"
    return ""


def _render_history(brief: PlanningBrief, limit: int) -> str:
    """Return what happened before this round, oldest first; reports that are too long for the brief as a digest."""
    parts = []
    if brief.reasons:
        parts.append(
            f"The goal was not reached by what landed so far:\n{fence_text('reasons', format_bullets(brief.reasons))}"
        )
    if brief.rationales:
        words = fence_text("plans", cut_list("\n\n".join(brief.rationales), limit // 4))
        parts.append(f"Why you cut the work as you did, in your own words, plan by plan:\n{words}")
    if known := [report for report in brief.reports if not report.is_news]:
        lines = cut_list(format_bullets(map(format_report_line, known)), limit // 4)
        parts.append(f"Your tasks that had ended before:\n{lines}")
    if news := [report for report in brief.reports if report.is_news]:
        room = max(limit - len(brief.goal) - len(brief.task.outcome), limit // 4)
        reports = format_report_digest(news, room, _REPORT_FORM)
        parts.append(f"Your tasks that have ended since. What became of them:\n\n{reports}")
    if brief.under_way:
        lines = cut_list(format_bullets(map(format_report_line, brief.under_way)), limit // 4)
        parts.append(f"Your tasks that have not ended:\n{lines}")
    if brief.decisions:
        decisions = cut_list(format_decisions(brief.decisions), limit // 4)
        parts.append(f"Decisions that hold for you:\n{fence_text('decisions', decisions)}")
    if brief.contradictions:
        parts.append(f"For you to settle:\n{fence_text('contradictions', format_bullets(brief.contradictions))}")
    if brief.taken:
        parts.append(f"Keys that are taken: {', '.join(brief.taken)}")
    return "\n\n".join(parts) or "This is your first look at the slice."
