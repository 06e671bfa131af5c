"""The judge's model lens: votes on a diff, and on whether an iteration reached the goal."""

import re
from collections.abc import Callable, Mapping
from typing import Literal, TypeVar

from pydantic import BaseModel, Field

from orchestrator.agent.spec import SessionSpec, tool_box
from orchestrator.agent.tools.submit import submit_tool
from orchestrator.domain.base import Frozen
from orchestrator.domain.contract import CRITERION_ID, IterationVerdict
from orchestrator.domain.ids import ROOT, SessionId, TaskId
from orchestrator.domain.verdict import LensVote
from orchestrator.judge.contract import uncited
from orchestrator.ports.roles import IterationBrief, ReviewBrief, SessionResult
from prompts import fence
from roles.base import Surroundings, bullets, check_lines, contract_lines, result_text

LENS = "diff"
_CITABLE = "task, check, receipt or changed file by its name"
_ID = "at most 40 lower-case letters, digits and hyphens"
V = TypeVar("V", bound=BaseModel)


class Review(Frozen):
    """A reviewer's answer."""

    decision: Literal["approve", "revise", "restart", "reject"] = Field(description="Your decision.")
    reasons: tuple[str, ...] = Field((), description="Why, each with file and line; empty only for approve.")


class ModelJudge:
    """A `ports.Judge` that asks the model configured under [roles.judge]."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around

    async def review(self, brief: ReviewBrief) -> LensVote:
        """A vote; `unreadable` when no answer could be understood."""
        values = {
            "task": brief.task.id,
            "title": brief.task.title,
            "outcome": brief.task.outcome,
            "acceptance": bullets(brief.task.acceptance, "- the outcome holds"),
            "non_goals": "; ".join(brief.task.non_goals) or "everything the outcome does not need",
            "checks": check_lines(brief.checks),
            "notes": fence("notes", bullets(brief.notes)),
            "diff": fence("diff", brief.diff),
        }
        session = SessionId(f"review:{brief.task.id}@{brief.number}")
        answer = await self._ask(session, brief.task.id, "judge", values, Review, _reviewed)
        model = self._around.config.roles.judge.model
        if isinstance(answer, SessionResult):
            return LensVote(lens=LENS, model=model, decision="unreadable", reasons=(_unreadable(answer),))
        return LensVote(lens=LENS, model=model, decision=answer.decision, reasons=answer.reasons)

    async def judge_iteration(self, brief: IterationBrief) -> IterationVerdict | SessionResult:
        """Whether the contract is met."""
        values = {
            "number": str(brief.number),
            "goal": brief.goal,
            "contract": contract_lines(brief.contract),
            "reports": "\n\n".join(map(result_text, brief.reports)) or "- (no task)",
            "checks": check_lines(brief.checks),
            "flaky": fence("flaky", bullets(brief.flaky)),
            "diffstat": fence("diffstat", brief.diffstat),
        }

        def problems(verdict: IterationVerdict) -> tuple[str, ...]:
            return _iteration_problems(brief, verdict)

        session = SessionId(f"verdict:{brief.number}" + (f"+{brief.again}" if brief.again else ""))
        return await self._ask(session, ROOT, "iteration", values, IterationVerdict, problems)

    async def _ask(
        self,
        session: SessionId,
        task: TaskId,
        prompt_name: str,
        values: Mapping[str, str],
        value: type[V],
        problems: Callable[[V], tuple[str, ...]],
    ) -> V | SessionResult:
        async def check(answer: V) -> tuple[str, ...]:
            return problems(answer)

        prompt = self._around.prompts.load(prompt_name)
        spec = SessionSpec(
            id=session,
            role="judge",
            task=task,
            settings=self._around.config.roles.judge,
            prompt=prompt.sha,
            system=prompt.render(),
            brief=self._around.prompts.load(f"{prompt_name}-brief").render(**values),
            tools=tool_box(submit_tool("submit_verdict", "Give your verdict and end.", value, check)),
        )
        return await self._around.hold(spec, value)


def _reviewed(review: Review) -> tuple[str, ...]:
    if review.decision != "approve" and not review.reasons:
        return (f"{review.decision} needs at least one reason that the author can act on",)
    return ()


def _iteration_problems(brief: IterationBrief, verdict: IterationVerdict) -> tuple[str, ...]:
    """A verdict must speak of every criterion, cite what it calls met, and may not call done what it finds unmet."""
    found = {finding.id: finding for finding in verdict.findings}
    names = [proposal.id for proposal in verdict.proposals]
    missing = [criterion.id for criterion in brief.contract.criteria if criterion.id not in found]
    unmet = [finding.id for finding in verdict.findings if not finding.met]
    problems = [f"there is no finding for criterion {name}" for name in missing]
    problems += [f"the evidence for {name} names no {_CITABLE}" for name in uncited(verdict, brief.citable)]
    problems += [f"the id {name} is taken" for name in sorted(set(names) & brief.contract.ids)]
    problems += [f"{name!r} is no id: {_ID}" for name in names if re.fullmatch(CRITERION_ID, name) is None]
    if verdict.decision == "done" and unmet:
        problems.append(f"done contradicts the unmet criteria {', '.join(unmet)}")
    if verdict.decision != "done" and not verdict.reasons:
        problems.append(f"{verdict.decision} needs reasons that a planner can act on")
    return tuple(problems)


def _unreadable(result: SessionResult) -> str:
    return f"no verdict could be read: {result.exit} {result.detail}".strip()
