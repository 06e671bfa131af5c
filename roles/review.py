"""What a reviewer is told through its lens, and what it may answer: a decision, and a finding on every point."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from orchestrator.domain.base import Frozen
from orchestrator.domain.review import OUTCOME, View, approval_problems, points
from orchestrator.domain.verdict import LensVote, PointFinding
from orchestrator.ports.roles import CheckSummary, ReviewBrief, SessionResult
from prompts import fence
from roles.base import bullets

PROMPT_OF: Mapping[View, str] = {View.DIFF: "judge", View.CODE: "judge-code", View.CODEBASE: "judge-codebase"}
"""View → the prompt of its reviewers; the first words they are told are in `NAME-brief`."""


class Review(Frozen):
    """A reviewer's answer."""

    decision: Literal["approve", "revise", "restart", "split", "reject"] = Field(description="Your decision.")
    reasons: tuple[str, ...] = Field((), description="Why, each with file and line; empty only for approve.")
    findings: tuple[PointFinding, ...] = Field(
        (), description="One for every point of the task; approve needs all of them, met and with evidence."
    )


def review_problems(brief: ReviewBrief, review: Review) -> tuple[str, ...]:
    """Why an answer cannot count as the decision it names: an approval without evidence, a veto without a reason."""
    if review.decision == "approve":
        ids = tuple(dict.fromkeys(check.id for check in brief.checks))
        return approval_problems(brief.task, review.findings, brief.shown, ids)
    if any(reason.strip() for reason in review.reasons):
        return ()
    if review.decision == "split":
        return ("split needs a reason that says how to divide the task",)
    return (f"{review.decision} needs at least one reason that the author can act on",)


def told(brief: ReviewBrief) -> dict[str, str]:
    """The values of a review's brief; what anybody but the harness and the plan wrote is fenced as data."""
    asked = points(brief.task)
    values = {
        "task": brief.task.id,
        "title": brief.task.title,
        "outcome": brief.task.outcome,
        "acceptance": bullets(
            (f"{name}: {text}" for name, text in asked.items() if name != OUTCOME), "- the outcome holds"
        ),
        "non_goals": "; ".join(brief.task.non_goals) or "everything the outcome does not need",
        "checks": bullets(map(_check, brief.checks), "- (no check ran)"),
        "shown": fence(brief.view, brief.shown.text),
        "points": ", ".join(asked),
    }
    return values | ({"notes": fence("notes", bullets(brief.notes))} if brief.view == View.DIFF else {})


def _check(check: CheckSummary) -> str:
    return f"{check.id}: `{check.check}`: {check.result} (receipt {check.receipt})"


def vote(brief: ReviewBrief, model: str, answer: Review | SessionResult) -> LensVote:
    """The vote that an answer is; `unreadable` if there is none, which says nothing about the work."""
    if isinstance(answer, SessionResult):
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
