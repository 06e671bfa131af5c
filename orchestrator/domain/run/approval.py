"""Approvals: questions to a person that wait in the run's inbox, without a process if need be."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.ids import QuestionId, parse_unit_id
from orchestrator.domain.run.contract import Criterion
from orchestrator.domain.run.person_review import ReviewComment
from orchestrator.domain.run.plan import Plan

OLD_DECISIONS: Mapping[str, str] = {"deny": "reject"}
"""The answers whose names have changed: journals, settings and commands of earlier versions have the old ones."""


def rename_old_decision(value: object) -> object:
    """Return an answer by its name of today; whatever else it is, as it is."""
    return OLD_DECISIONS.get(value, value) if isinstance(value, str) else value


ApprovalDecision = Annotated[Literal["approve", "send-back", "reject"], BeforeValidator(rename_old_decision)]
ApprovalDefault = Annotated[Literal["approve", "reject"], BeforeValidator(rename_old_decision)]
"""The answers that may count where nobody gives one."""
ApprovalMatter = Literal[
    "plan", "landing", "pull-request", "merge", "budget", "tier", "policy", "contract", "sample", "recipe", "gate"
]

DECISION_WORDS: Mapping[ApprovalDecision, str] = {
    "approve": "approved",
    "send-back": "sent back",
    "reject": "rejected",
}
"""The words for what became of a question."""

_USUAL_ANSWERS: tuple[ApprovalDecision, ...] = ("approve", "reject")
_ALL_ANSWERS: tuple[ApprovalDecision, ...] = ("approve", "send-back", "reject")
ANSWERS_BY_MATTER: Mapping[ApprovalMatter, tuple[ApprovalDecision, ...]] = {
    "plan": _ALL_ANSWERS,
    "landing": _ALL_ANSWERS,
    "pull-request": _USUAL_ANSWERS,
    "merge": _USUAL_ANSWERS,
    "budget": _USUAL_ANSWERS,
    "tier": _USUAL_ANSWERS,
    "policy": _USUAL_ANSWERS,
    "contract": _USUAL_ANSWERS,
    "sample": _USUAL_ANSWERS,
    "recipe": _USUAL_ANSWERS,
    "gate": _USUAL_ANSWERS,
}
"""The answers that each matter takes. Only what one worker or one planner made can be sent back to whoever made it."""


class Approval(FrozenModel):
    """One question. `subject` is what it is about within its `matter`: a task, a unit, a commit, an amount.

    Nobody having answered by `expires_at` counts as `default`; without it the question waits for ever.
    """

    item: str
    matter: ApprovalMatter
    subject: str
    title: str
    detail: tuple[str, ...] = ()
    default: ApprovalDefault = "reject"
    settings: dict[str, Any] = Field(default_factory=dict)
    """Settings of the run that a yes changes, nested as in config.toml."""
    criteria: tuple[Criterion, ...] = ()
    """The criteria that a yes adds to the contract."""
    recipe: dict[str, Any] | None = None
    """The recipe that a migration goes on by after a yes."""
    signature: str = ""
    """The signature of the failure that a proposed recipe is to mend; empty in old journals."""
    plan: Plan | None = None
    """The plan whose tasks wait, which people may edit; None in old journals."""
    expires_at: datetime | None = None

    @property
    def answers(self) -> tuple[ApprovalDecision, ...]:
        """The answers that it takes. A pass of a migration has no worker that it could be sent back to."""
        if self.matter == "landing" and parse_unit_id(self.subject) is None:
            return _USUAL_ANSWERS
        return ANSWERS_BY_MATTER[self.matter]


class ApprovalState(FrozenModel):
    """An approval with its answer, as far as there is one. `by` is a person, or `expiry`.

    `number` counts the questions of the run from 1. `closed` says why it needs no answer any more, as far as an event
    said so; `domain.run.closed_questions` knows the other reasons.
    """

    approval: Approval
    number: int = 0
    decision: ApprovalDecision | None = None
    by: str = ""
    reason: str = ""
    comments: tuple[ReviewComment, ...] = ()
    closed: str = ""

    @property
    def id(self) -> QuestionId:
        """Its short name."""
        return QuestionId(self.number)

    @property
    def is_open(self) -> bool:
        """True if nobody has answered it."""
        return self.decision is None and not self.closed

    @property
    def is_about_recipe(self) -> bool:
        """True if it proposes another recipe: a run may end over it and be opened again by it."""
        return self.approval.matter == "recipe"

    def has_expired(self, now: datetime) -> bool:
        """Return True if it waits no longer for a person, because its time is over."""
        return self.is_open and self.approval.expires_at is not None and self.approval.expires_at <= now
