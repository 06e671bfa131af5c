"""The brief of a reviewer's lens, and the answers it may give: a decision, and a finding on every point."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.judging.review import OUTCOME_POINT, LensView, find_approval_problems, get_review_points
from orchestrator.domain.judging.verdict import LensVote, PointFinding
from orchestrator.ports.roles import CheckSummary, ReviewBrief, SessionFailure
from prompts import fence_text
from roles.brief_text import format_bullets

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


def find_review_problems(brief: ReviewBrief, review: ReviewAnswer) -> tuple[str, ...]:
    """Return why an answer cannot count as the decision it names, such as an approval without evidence."""
    if review.decision == "approve":
        ids = tuple(dict.fromkeys(check.id for check in brief.checks))
        return tuple(find_approval_problems(brief.task, review.findings, brief.shown, ids))
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
        "acceptance": format_bullets(
            (f"{name}: {text}" for name, text in asked.items() if name != OUTCOME_POINT), "- the outcome holds"
        ),
        "non_goals": "; ".join(brief.task.non_goals) or "everything the outcome does not need",
        "checks": format_bullets(map(_check, brief.checks), "- (no check ran)"),
        "shown": fence_text(brief.view, brief.shown.text),
        "points": ", ".join(asked),
    }
    return values | ({"notes": fence_text("notes", format_bullets(brief.notes))} if brief.view == LensView.DIFF else {})


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
    )
