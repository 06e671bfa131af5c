"""The judge of the whole: its brief within a budget, the tools that show the rest, and what is wrong with a verdict."""

import re
from collections.abc import Mapping, Sequence
from functools import partial

from orchestrator.agent.session_spec import SessionSpec, index_tools
from orchestrator.agent.tools.base import AnyTool
from orchestrator.agent.tools.harness import build_submit_tool
from orchestrator.agent.tools.pages import build_read_changes_tool, build_read_reports_tool
from orchestrator.config.roles import ModelSettings
from orchestrator.domain import ids
from orchestrator.domain.restart.restart_states import format_restart_states
from orchestrator.domain.run.contract import IterationVerdict
from orchestrator.domain.text.truncation import LIMIT_CHARS
from orchestrator.judge.verdict.contract import explain_unknown_state, list_uncited_criteria
from orchestrator.ports.roles import IterationBrief, SessionFailure
from prompts import fence_text
from roles import brief_text
from roles.memory_words import add_proposals
from roles.report_digest import ReportForm, format_report_digest
from roles.role_context import RoleContext
from roles.session_tries import SessionTry, hold_with_fresh_tries

_LIST_SHARE = 8
"""Each list beside the reports may have an eighth of the brief."""
_LEAST_SHARE = 4
"""The reports have at least a quarter of it, however long goal and contract are."""
_MOST_PAGE_TURNS = 40
_FORM = ReportForm(
    brief_text.format_judge_report,
    claims_label="claims",
    hint="`read_reports` shows the whole reports on a task, or on all tasks of a slice, by its id.",
)
_CITABLE = "task, check, receipt or changed file by its name"
_ID = "at most 40 lower-case letters, digits and hyphens"


async def judge_whole(around: RoleContext, brief: IterationBrief) -> IterationVerdict | SessionFailure:
    """Return the verdict on the contract, or how the last conversation about it ended without one."""
    build_spec = partial(_build_spec, around, brief)
    return await hold_with_fresh_tries(around, around.config.roles.judge, build_spec, IterationVerdict)


def _build_spec(around: RoleContext, brief: IterationBrief, current: SessionTry) -> SessionSpec:
    prompt = around.prompts.load_prompt("iteration")
    page_chars = min(LIMIT_CHARS, current.brief_chars // _LEAST_SHARE) >> current.overflow_count
    reports: dict[str, str] = {}
    for report in brief.reports:
        reports[report.task.id] = brief_text.format_judge_report(report)
    template = around.prompts.load_prompt("iteration-brief")
    text = current.render_brief(lambda limit: template.render_text(**_build_values(brief, limit)))
    text = add_proposals(text, brief.proposals, around.prompts)
    return SessionSpec(
        id=ids.build_verdict_session_id(brief.number, brief.again, current.number),
        role="judge",
        task=ids.ROOT_TASK,
        settings=_allow_reading(current.settings, reports, page_chars),
        prompt=prompt.sha,
        system=prompt.render_text(),
        brief=current.add_explanation(
            add_proposals(text, brief.proposals, around.prompts), around.prompts.load_prompt("iteration-again")
        ),
        tools=index_tools(*_build_tools(brief, reports, page_chars)),
    )


def _build_tools(brief: IterationBrief, reports: Mapping[str, str], page_chars: int) -> Sequence[AnyTool]:
    async def find_problems(verdict: IterationVerdict) -> tuple[str, ...]:
        return find_verdict_problems(brief, verdict)

    return (
        build_read_reports_tool(reports, page_chars),
        build_read_changes_tool(brief.diffstat.splitlines(), page_chars),
        build_submit_tool("submit_verdict", "Give your verdict and end.", IterationVerdict, find_problems),
    )


def _allow_reading(settings: ModelSettings, reports: Mapping[str, str], page_chars: int) -> ModelSettings:
    """Return the settings with a turn more for each page of reports: reading does not use up those for the verdict."""
    pages = sum(map(len, reports.values())) // page_chars
    return settings.model_copy(update={"max_turns": settings.max_turns + min(pages, _MOST_PAGE_TURNS)})


def _build_values(brief: IterationBrief, limit: int) -> dict[str, str]:
    """Return the values of the brief: goal and criteria as they are, all else in what `limit` characters leave."""
    contract, share = brief_text.format_contract(brief.contract), limit // _LIST_SHARE
    lists = {
        "checks": brief_text.cut_list(brief_text.format_check_summaries(brief.checks), share),
        "flaky": fence_text("flaky", brief_text.cut_list(brief_text.format_bullets(brief.flaky), share)),
        "diffstat": fence_text("diffstat", brief_text.cut_list(brief.diffstat, share)),
        "states": format_restart_states(brief.states, share),
    }
    forge = brief_text.format_forge_checks(brief.forge, share)
    lists["checks"] = "\n".join(filter(None, (lists["checks"], forge)))
    used = len(brief.goal) + len(contract) + sum(map(len, lists.values()))
    room = max(limit - used, limit // _LEAST_SHARE)
    reports = format_report_digest(brief.reports, room, _FORM) or "- (no task)"
    return {"number": str(brief.number), "goal": brief.goal, "contract": contract, "reports": reports, **lists}


def find_verdict_problems(brief: IterationBrief, verdict: IterationVerdict) -> tuple[str, ...]:
    """Return what is wrong with a verdict that skips a criterion, cites nothing, or calls unmet work done."""
    found = {finding.id for finding in verdict.findings}
    names = [proposal.id for proposal in verdict.proposals]
    unmet = [finding.id for finding in verdict.findings if not finding.met]
    problems = []
    for criterion in brief.contract.criteria:
        if criterion.id not in found:
            problems.append(f"there is no finding for criterion {criterion.id}")
    for name in list_uncited_criteria(verdict, brief.citable):
        problems.append(f"the evidence for {name} names no {_CITABLE}")
    twice = {name for name in names if names.count(name) > 1}
    for name in sorted(set(names) & brief.contract.ids | twice):
        problems.append(f"the id {name} is taken")
    for name in names:
        if re.fullmatch(ids.CRITERION_ID_PATTERN, name) is None:
            problems.append(f"{name!r} is no id: {_ID}")
    if verdict.decision == "done" and unmet:
        problems.append(f"done contradicts the unmet criteria {', '.join(unmet)}")
    if problem := explain_unknown_state(verdict, brief.states):
        problems.append(problem)
    if verdict.decision != "done" and not verdict.reasons:
        problems.append(f"{verdict.decision} needs reasons that a planner can act on")
    return tuple(problems)
