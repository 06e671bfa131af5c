"""Approvals: questions to a person that wait in the run's inbox, without a process if need be."""

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.run.contract import Criterion

ApprovalDecision = Literal["approve", "deny"]
ApprovalMatter = Literal[
    "plan", "landing", "pull-request", "merge", "budget", "tier", "contract", "sample", "recipe", "gate"
]


class Approval(FrozenModel):
    """One question. `subject` is what it is about within its `matter`: a task, a unit, a commit, an amount.

    Nobody having answered by `expires_at` counts as `default`; without it the question waits for ever.
    """

    item: str
    matter: ApprovalMatter
    subject: str
    title: str
    detail: tuple[str, ...] = ()
    default: ApprovalDecision = "deny"
    settings: dict[str, Any] = Field(default_factory=dict)
    """Settings of the run that a yes changes, nested as in config.toml."""
    criteria: tuple[Criterion, ...] = ()
    """The criteria that a yes adds to the contract."""
    recipe: dict[str, Any] | None = None
    """The recipe that a migration goes on by after a yes."""
    expires_at: datetime | None = None


class ApprovalState(FrozenModel):
    """An approval with its answer, as far as there is one. `by` is a person, or `expiry`."""

    approval: Approval
    decision: ApprovalDecision | None = None
    by: str = ""
    reason: str = ""

    @property
    def is_open(self) -> bool:
        """True if it still waits for an answer."""
        return self.decision is None

    @property
    def is_about_recipe(self) -> bool:
        """True if it proposes another recipe: a run may end over it and be opened again by it."""
        return self.approval.matter == "recipe"

    def has_expired(self, now: datetime) -> bool:
        """Return True if it waits no longer for a person, because its time is over."""
        return self.is_open and self.approval.expires_at is not None and self.approval.expires_at <= now
