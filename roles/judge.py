"""The judge's model lenses: votes on a change, and on whether an iteration reached the goal."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Literal, TypeVar

from pydantic import BaseModel, Field

from orchestrator.agent.session_spec import SessionSpec, index_tools
from orchestrator.agent.tools.harness import build_submit_tool
from orchestrator.config.roles import ModelSettings
from orchestrator.domain import ids
from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.judging.review import OUTCOME_POINT, LensView, find_approval_problems, get_review_points
from orchestrator.domain.judging.verdict import LensVote, PointFinding
from orchestrator.domain.run.contract import IterationVerdict
from orchestrator.ports.roles import (
    CheckSummary,
    ContestBrief,
    ContestRuling,
    IterationBrief,
    ReviewBrief,
    RivalBrief,
    RivalRuling,
    SessionFailure,
)
from prompts import fence_text
from roles import brief_text
from roles.iteration_judge import judge_whole
from roles.memory_words import add_proposals
from roles.role_context import RoleContext

VIEW_PROMPTS: Mapping[LensView, str] = {
    LensView.DIFF: "judge",
    LensView.CODE: "judge-code",
    LensView.CODEBASE: "judge-codebase",
}
"""View → the prompt of its reviewers; the first words they are told are in `NAME-brief`."""


class ReviewAnswer(FrozenModel):
    """A reviewer's answer."""

    decision: Literal["approve", "revise", "restart", "split", "reject"] = Field(description="Your decision.")
    reasons: tuple[str, ...] = Field((), description="Why, each with file and line; empty only for approve.")
    findings: tuple[PointFinding, ...] = Field(
        (), description="One for every point of the task; approve needs all of them, met and with evidence."
    )
    accepted: tuple[str, ...] = Field((), description="Ids of proposals for the field guide that you accept.")


class ContestAnswer(FrozenModel):
    """A judge's answer about a contested test."""

    decision: Literal["keep", "drop"] = Field(description="keep: the test stands. drop: it does not count any more.")
    reasons: tuple[str, ...] = Field((), description="Why, by the words of the task.")


def find_contest_problems(answer: ContestAnswer) -> tuple[str, ...]:
    """Return why an answer cannot count."""
    if any(reason.strip() for reason in answer.reasons):
        return ()
    return (f"{answer.decision} needs at least one reason, by the words of the task",)


class ChoiceAnswer(FrozenModel):
    """A judge's choice among results of one task."""

    chosen: str = Field(description="The id of the result that lands.")
    reasons: tuple[str, ...] = Field((), description="Why this one, by what you saw of each.")


def find_choice_problems(brief: RivalBrief, answer: ChoiceAnswer) -> tuple[str, ...]:
    """Return why an answer chooses nothing."""
    ids_shown = [candidate.task for candidate in brief.candidates]
    if answer.chosen not in ids_shown:
        return (f"there is no result {answer.chosen!r}: choose one of {', '.join(ids_shown)}",)
    if not any(reason.strip() for reason in answer.reasons):
        return ("the choice needs at least one reason, by what you saw of the results",)
    return ()


def build_choice_values(brief: RivalBrief) -> dict[str, str]:
    """Return the values of a choice's brief; the changes and what was noticed in them are fenced as data."""
    parts = []
    for one in brief.candidates:
        checks = brief_text.format_bullets(map(_check, one.checks), "- (no check ran)")
        noticed = fence_text("noticed", brief_text.format_bullets(one.flags))
        size = f"Size: {one.lines} lines in {one.files} files"
        change = fence_text("change", one.change)
        parts.append(f"Result {one.task}\n{size}\nChecks\n{checks}\nNoticed in it\n{noticed}\nThe change\n{change}")
    return {
        "task": brief.task.id,
        "title": brief.task.title,
        "outcome": brief.task.outcome,
        "acceptance": brief_text.format_bullets(brief.task.acceptance, "- the outcome holds"),
        "non_goals": "; ".join(brief.task.non_goals) or "everything the outcome does not need",
        "candidates": "\n\n".join(parts),
        "ids": ", ".join(candidate.task for candidate in brief.candidates),
    }


def find_review_problems(brief: ReviewBrief, review: ReviewAnswer) -> tuple[str, ...]:
    """Return why an answer cannot count as the decision it names, such as an approval without evidence."""
    if review.decision == "approve":
        checks = tuple(dict.fromkeys(check.id for check in brief.checks))
        return tuple(find_approval_problems(brief.task, review.findings, brief.shown, checks))
    if any(reason.strip() for reason in review.reasons):
        return ()
    if review.decision == "split":
        return ("split needs a reason that says how to divide the task",)
    return (f"{review.decision} needs at least one reason that the author can act on",)


def build_review_values(brief: ReviewBrief) -> dict[str, str]:
    """Return the values of a review's brief; what anybody but the harness and the plan wrote is fenced as data."""
    asked = get_review_points(brief.task)
    values = {
        "task": brief.task.id,
        "title": brief.task.title,
        "outcome": brief.task.outcome,
        "acceptance": brief_text.format_bullets(
            (f"{name}: {text}" for name, text in asked.items() if name != OUTCOME_POINT), "- the outcome holds"
        ),
        "non_goals": "; ".join(brief.task.non_goals) or "everything the outcome does not need",
        "checks": brief_text.format_bullets(map(_check, brief.checks), "- (no check ran)"),
        "shown": fence_text(brief.view, brief.shown.text),
        "points": ", ".join(asked),
    }
    if brief.view == LensView.DIFF:
        values["notes"] = fence_text("notes", brief_text.format_bullets(brief.notes))
    return values


def _check(check: CheckSummary) -> str:
    return f"{check.id}: `{check.check}`: {check.result} (receipt {check.receipt})"


def build_lens_vote(brief: ReviewBrief, model: str, answer: ReviewAnswer | SessionFailure) -> LensVote:
    """Return the vote that an answer is; `unreadable` if there is none, which says nothing about the work."""
    if isinstance(answer, SessionFailure):
        why = f"no verdict could be read: {answer.exit} {answer.detail}".strip()
        said = f"{why} (asked of {model or 'no model'}; that is trouble with the reviewer and says nothing of the work)"
        return LensVote(lens=brief.lens, model=model, decision="unreadable", reasons=(said,))
    return LensVote(
        lens=brief.lens,
        model=model,
        decision=answer.decision,
        reasons=answer.reasons,
        findings=answer.findings,
        accepted=answer.accepted,
    )


V = TypeVar("V", bound=BaseModel)


class ModelJudge:
    """A `ports.Judge` that asks the models configured under [roles.judge]."""

    def __init__(self, around: RoleContext) -> None:
        self._around = around

    async def review_change(self, brief: ReviewBrief) -> LensVote:
        """Return a vote; `unreadable` when no answer could be understood."""
        session = ids.build_review_session_id(brief.task.id, brief.number, brief.lens)
        values, find_problems = build_review_values(brief), partial(find_review_problems, brief)
        prompt = VIEW_PROMPTS[brief.view]
        answer = await self._ask(session, brief.task.id, prompt, values, ReviewAnswer, find_problems, brief)
        settings = self._around.config.roles.judge.get_lens_settings(brief.lens)
        return build_lens_vote(brief, settings.model, answer)

    async def judge_contest(self, brief: ContestBrief) -> ContestRuling | SessionFailure:
        """Decide if a contested test stands; everything that is not the plan's is shown as data."""
        task = brief.task
        values = {
            "task": task.id,
            "title": task.title,
            "outcome": task.outcome,
            "acceptance": brief_text.format_bullets(task.acceptance, "- the outcome holds"),
            "non_goals": "; ".join(task.non_goals) or "everything the outcome does not need",
            "test": fence_text("name", brief.test),
            "file": fence_text("test", brief.file),
            "printed": fence_text("printed", brief.printed),
            "why": fence_text("objection", brief.why),
            "change": fence_text("change", brief.change),
        }
        session = ids.build_contest_session_id(task.id, brief.number, brief.place)
        answer = await self._ask(session, task.id, "judge-contest", values, ContestAnswer, find_contest_problems)
        if isinstance(answer, SessionFailure):
            return answer
        model = self._around.config.roles.judge.model
        return ContestRuling(is_dropped=answer.decision == "drop", reasons=answer.reasons, model=model)

    async def choose_rival(self, brief: RivalBrief) -> RivalRuling | SessionFailure:
        """Choose which of several results of one task lands, by what the harness knows of each."""
        task, find_problems = brief.task.id, partial(find_choice_problems, brief)
        session, values = ids.build_choice_session_id(task, brief.attempts), build_choice_values(brief)
        answer = await self._ask(session, task, "judge-choice", values, ChoiceAnswer, find_problems)
        if isinstance(answer, SessionFailure):
            return answer
        model = self._around.config.roles.judge.model
        return RivalRuling(chosen=ids.TaskId(answer.chosen), reasons=answer.reasons, model=model)

    async def judge_iteration(self, brief: IterationBrief) -> IterationVerdict | SessionFailure:
        """Judge whether the contract is met; with a fresh context while no answer can be had."""
        return await judge_whole(self._around, brief)

    async def _ask(
        self,
        session: ids.SessionId,
        task: ids.TaskId,
        prompt_name: str,
        values: Mapping[str, str],
        value: type[V],
        problems: Callable[[V], tuple[str, ...]],
        review: ReviewBrief | None = None,
    ) -> V | SessionFailure:
        async def check_answer(answer: V) -> tuple[str, ...]:
            return problems(answer)

        judge, prompt = self._around.config.roles.judge, self._around.prompts.load_prompt(prompt_name)
        settings: ModelSettings = judge
        paths: tuple[str, ...] = ()
        brief = self._around.prompts.load_prompt(f"{prompt_name}-brief").render_text(**values)
        if review is not None:
            settings, paths = judge.get_lens_settings(review.lens), tuple(review.shown.places)
            brief = add_proposals(brief, review.proposals, self._around.prompts)
        spec = SessionSpec(
            id=session,
            role="judge",
            task=task,
            settings=settings,
            prompt=prompt.sha,
            system=prompt.render_text(),
            brief=brief,
            tools=index_tools(build_submit_tool("submit_verdict", "Give your verdict and end.", value, check_answer)),
        )
        return await self._around.hold_session(spec, value, paths=paths)
