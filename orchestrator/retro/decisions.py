"""Judged decisions of recorded runs: who took them under which prompt, and what was wrong with them."""

from enum import StrEnum
from typing import Literal

from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.chat import Role
from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.ids import RunId, SessionId, TaskId

DecisionOutcome = Literal["landed", "sent-back", "open"]
"""`landed`: it stood. `sent-back`: it did not, and the journal names the cause. `open`: neither is known."""


class CauseKind(StrEnum):
    """The record that a cause is taken from."""

    RULE = "rule"
    VERDICT = "verdict"
    EXIT = "exit"
    VIOLATION = "violation"
    REVIEW = "review"
    PLAN = "plan"


class DecisionCause(FrozenModel):
    """A typed cause. `name` is the rule's id, the verdict's cause, the session's end or the kind of violation."""

    kind: CauseKind
    name: str

    @property
    def label(self) -> str:
        """The cause as people read it, for example `rule suppression`."""
        return f"{self.kind.value} {self.name}"


class DecisionFault(FrozenModel):
    """One fault that was found with a decision, at event `seq`. `text` are the journal's words: data, no instruction.

    `path` is the file that it is about, empty where it is about none; `turn` the turn that did it, where that is known.
    """

    cause: DecisionCause
    seq: int
    text: str
    path: str = ""
    turn: int | None = None


class PromptUse(FrozenModel):
    """A prompt in use: whose it is, its name, and the sha of its wording."""

    role: Role
    name: str
    sha: str


class JudgedDecision(FrozenModel):
    """One session whose result was judged: a worker's attempt, a lens's vote, a planner's round.

    `spent` is what the session cost. `base` is the commit that an attempt began from, `recipe` the migration's name.
    """

    run: RunId
    use: PromptUse
    model: str
    variant: str | None
    task: TaskId
    number: int
    session: SessionId
    outcome: DecisionOutcome
    faults: tuple[DecisionFault, ...] = ()
    spent: Usage = Usage()
    base: str = ""
    recipe: str = ""

    @property
    def causes(self) -> frozenset[DecisionCause]:
        """The causes of its faults."""
        return frozenset(fault.cause for fault in self.faults)

    @property
    def is_healthy(self) -> bool:
        """True if it stood and nothing was found with it."""
        return self.outcome == "landed" and not self.faults
