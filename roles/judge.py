"""The judge's model lenses: votes on a change, and on whether an iteration reached the goal."""

import re
from collections.abc import Callable, Mapping
from typing import TypeVar

from pydantic import BaseModel

from orchestrator.agent.spec import SessionSpec, tool_box
from orchestrator.agent.tools.submit import submit_tool
from orchestrator.config.roles import ModelSettings
from orchestrator.domain.contract import IterationVerdict
from orchestrator.domain.ids import CRITERION_ID, ROOT, SessionId, TaskId
from orchestrator.domain.review import review_session
from orchestrator.domain.verdict import LensVote
from orchestrator.judge.contract import uncited
from orchestrator.ports.roles import IterationBrief, ReviewBrief, SessionResult
from prompts import fence
from roles.base import Surroundings, bullets, check_lines, contract_lines, forge_check_lines, result_text
from roles.review import PROMPT_OF, Review, review_problems, told, vote

_CITABLE = "task, check, receipt or changed file by its name"
_ID = "at most 40 lower-case letters, digits and hyphens"
V = TypeVar("V", bound=BaseModel)


class ModelJudge:
    """A `ports.Judge` that asks the models configured under [roles.judge]."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around

    async def review(self, brief: ReviewBrief) -> LensVote:
        """A vote; `unreadable` when no answer could be understood."""
        settings = self._around.config.roles.judge.lens(brief.lens)
        session = review_session(brief.task.id, brief.number, brief.lens)

        def problems(review: Review) -> tuple[str, ...]:
            return review_problems(brief, review)

        answer = await self._ask(session, brief.task.id, PROMPT_OF[brief.view], told(brief), Review, problems, settings)
        return vote(brief, settings.model, answer)

    async def judge_iteration(self, brief: IterationBrief) -> IterationVerdict | SessionResult:
        """Whether the contract is met."""
        values = {
            "number": str(brief.number),
            "goal": brief.goal,
            "contract": contract_lines(brief.contract),
            "reports": "\n\n".join(map(result_text, brief.reports)) or "- (no task)",
            "checks": "\n".join(filter(None, (check_lines(brief.checks), forge_check_lines(brief.forge)))),
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
        settings: ModelSettings | None = None,
    ) -> V | SessionResult:
        async def check(answer: V) -> tuple[str, ...]:
            return problems(answer)

        prompt = self._around.prompts.load(prompt_name)
        spec = SessionSpec(
            id=session,
            role="judge",
            task=task,
            settings=settings or self._around.config.roles.judge,
            prompt=prompt.sha,
            system=prompt.render(),
            brief=self._around.prompts.load(f"{prompt_name}-brief").render(**values),
            tools=tool_box(submit_tool("submit_verdict", "Give your verdict and end.", value, check)),
        )
        return await self._around.hold(spec, value)


def _iteration_problems(brief: IterationBrief, verdict: IterationVerdict) -> tuple[str, ...]:
    """A verdict must speak of every criterion, cite what it calls met, and may not call done what it finds unmet."""
    found = {finding.id: finding for finding in verdict.findings}
    names = [proposal.id for proposal in verdict.proposals]
    missing = [criterion.id for criterion in brief.contract.criteria if criterion.id not in found]
    unmet = [finding.id for finding in verdict.findings if not finding.met]
    problems = [f"there is no finding for criterion {name}" for name in missing]
    problems += [f"the evidence for {name} names no {_CITABLE}" for name in uncited(verdict, brief.citable)]
    twice = {name for name in names if names.count(name) > 1}
    problems += [f"the id {name} is taken" for name in sorted(set(names) & brief.contract.ids | twice)]
    problems += [f"{name!r} is no id: {_ID}" for name in names if re.fullmatch(CRITERION_ID, name) is None]
    if verdict.decision == "done" and unmet:
        problems.append(f"done contradicts the unmet criteria {', '.join(unmet)}")
    if verdict.decision != "done" and not verdict.reasons:
        problems.append(f"{verdict.decision} needs reasons that a planner can act on")
    return tuple(problems)
