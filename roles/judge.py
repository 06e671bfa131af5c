"""The judge's model lenses: votes on a change, and on whether an iteration reached the goal."""

import re
from collections.abc import Callable, Mapping
from typing import TypeVar

from pydantic import BaseModel

from orchestrator.agent.session_spec import SessionSpec, index_tools
from orchestrator.agent.tools.harness import build_submit_tool
from orchestrator.config.roles import ModelSettings
from orchestrator.domain.ids import (
    CRITERION_ID_PATTERN,
    ROOT_TASK,
    SessionId,
    TaskId,
    build_review_session_id,
    build_verdict_session_id,
)
from orchestrator.domain.judging.verdict import LensVote
from orchestrator.domain.run.contract import IterationVerdict
from orchestrator.judge.verdict.contract import list_uncited_criteria
from orchestrator.ports.roles import IterationBrief, ReviewBrief, SessionFailure
from prompts import fence_text
from roles.brief_text import (
    format_bullets,
    format_check_summaries,
    format_contract,
    format_forge_checks,
    format_judge_report,
)
from roles.review_answer import VIEW_PROMPTS, ReviewAnswer, build_lens_vote, build_review_values, find_review_problems
from roles.role_context import RoleContext

_CITABLE = "task, check, receipt or changed file by its name"
_ID = "at most 40 lower-case letters, digits and hyphens"
V = TypeVar("V", bound=BaseModel)


class ModelJudge:
    """A `ports.Judge` that asks the models configured under [roles.judge]."""

    def __init__(self, around: RoleContext) -> None:
        self._around = around

    async def review_change(self, brief: ReviewBrief) -> LensVote:
        """Return a vote; `unreadable` when no answer could be understood."""
        settings = self._around.config.roles.judge.get_lens_settings(brief.lens)
        session = build_review_session_id(brief.task.id, brief.number, brief.lens)

        def find_problems(review: ReviewAnswer) -> tuple[str, ...]:
            return find_review_problems(brief, review)

        answer = await self._ask(
            session,
            brief.task.id,
            VIEW_PROMPTS[brief.view],
            build_review_values(brief),
            ReviewAnswer,
            find_problems,
            settings,
        )
        return build_lens_vote(brief, settings.model, answer)

    async def judge_iteration(self, brief: IterationBrief) -> IterationVerdict | SessionFailure:
        """Judge whether the contract is met."""
        values = {
            "number": str(brief.number),
            "goal": brief.goal,
            "contract": format_contract(brief.contract),
            "reports": "\n\n".join(map(format_judge_report, brief.reports)) or "- (no task)",
            "checks": "\n".join(filter(None, (format_check_summaries(brief.checks), format_forge_checks(brief.forge)))),
            "flaky": fence_text("flaky", format_bullets(brief.flaky)),
            "diffstat": fence_text("diffstat", brief.diffstat),
        }

        def find_problems(verdict: IterationVerdict) -> tuple[str, ...]:
            return _iteration_problems(brief, verdict)

        session = build_verdict_session_id(brief.number, brief.again)
        return await self._ask(session, ROOT_TASK, "iteration", values, IterationVerdict, find_problems)

    async def _ask(
        self,
        session: SessionId,
        task: TaskId,
        prompt_name: str,
        values: Mapping[str, str],
        value: type[V],
        problems: Callable[[V], tuple[str, ...]],
        settings: ModelSettings | None = None,
    ) -> V | SessionFailure:
        async def check_answer(answer: V) -> tuple[str, ...]:
            return problems(answer)

        prompt = self._around.prompts.load_prompt(prompt_name)
        spec = SessionSpec(
            id=session,
            role="judge",
            task=task,
            settings=settings or self._around.config.roles.judge,
            prompt=prompt.sha,
            system=prompt.render_text(),
            brief=self._around.prompts.load_prompt(f"{prompt_name}-brief").render_text(**values),
            tools=index_tools(build_submit_tool("submit_verdict", "Give your verdict and end.", value, check_answer)),
        )
        return await self._around.hold_session(spec, value)


def _iteration_problems(brief: IterationBrief, verdict: IterationVerdict) -> tuple[str, ...]:
    """Return what is wrong with a verdict that skips a criterion, cites nothing, or calls unmet work done."""
    found = {finding.id: finding for finding in verdict.findings}
    names = [proposal.id for proposal in verdict.proposals]
    missing = []
    for criterion in brief.contract.criteria:
        if criterion.id not in found:
            missing.append(criterion.id)
    unmet = []
    for finding in verdict.findings:
        if not finding.met:
            unmet.append(finding.id)
    problems = []
    for name in missing:
        problems.append(f"there is no finding for criterion {name}")
    problems += [
        f"the evidence for {name} names no {_CITABLE}" for name in list_uncited_criteria(verdict, brief.citable)
    ]
    twice = {name for name in names if names.count(name) > 1}
    problems += [f"the id {name} is taken" for name in sorted(set(names) & brief.contract.ids | twice)]
    problems += [f"{name!r} is no id: {_ID}" for name in names if re.fullmatch(CRITERION_ID_PATTERN, name) is None]
    if verdict.decision == "done" and unmet:
        problems.append(f"done contradicts the unmet criteria {', '.join(unmet)}")
    if verdict.decision != "done" and not verdict.reasons:
        problems.append(f"{verdict.decision} needs reasons that a planner can act on")
    return tuple(problems)
