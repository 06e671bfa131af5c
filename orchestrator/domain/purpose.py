"""Purposes: what a workspace or a run of checks is for, in words for people, with facts that programs go by."""

from dataclasses import dataclass, field
from typing import Literal

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.ids import TaskId
from orchestrator.domain.text.lazy_pattern import compile_lazily

PurposeKind = Literal["planning", "attempt", "queue", "other"]

_OLD_PLANNING = compile_lazily(r"planning (?P<task>.+)")
_OLD_ATTEMPT = compile_lazily(r"(?P<task>.+) attempt (?P<attempt>[0-9]+)(?:, (?P<detail>.*))?")
_OLD_QUEUE = compile_lazily(r"queue (?P<round>[^,]+)(?:, (?P<detail>.*))?")


class PurposeFacts(FrozenModel):
    """The facts that programs go by: `planning` has a task, `attempt` a task and its attempt, `queue` the round's name.

    `detail` says how a run of checks differs from the plain one, such as "again"; it is empty for the plain one.
    `check` is the key of the one run of a check that a workspace is for; empty where it is for something else.
    """

    kind: PurposeKind = "other"
    task: TaskId | None = None
    attempt: int = 0
    round: str = ""
    detail: str = ""
    check: str = ""


@dataclass(frozen=True)
class Purpose:
    """A purpose: `text` is shown to people, `facts` decide."""

    text: str
    facts: PurposeFacts = field(default_factory=PurposeFacts)

    @classmethod
    def for_planning(cls, task: TaskId) -> "Purpose":
        """Return the purpose of a planner's round on `task`."""
        return cls(f"planning {task}", PurposeFacts(kind="planning", task=task))

    @classmethod
    def for_attempt(cls, task: TaskId, number: int) -> "Purpose":
        """Return the purpose of working on an attempt at `task`, or of testing its candidate."""
        return cls(f"{task} attempt {number}", PurposeFacts(kind="attempt", task=task, attempt=number))

    @classmethod
    def for_queue(cls, name: str) -> "Purpose":
        """Return the purpose of testing a union in the queue's round `name`."""
        return cls(f"queue {name}", PurposeFacts(kind="queue", round=name))

    def with_detail(self, detail: str) -> "Purpose":
        """Return the same purpose for a run of checks that differs from the plain one by `detail`."""
        details = ", ".join(filter(None, (self.facts.detail, detail)))
        return Purpose(f"{self.text}, {detail}", self.facts.model_copy(update={"detail": details}))

    def for_check_run(self, key: str) -> "Purpose":
        """Return the same purpose for the workspace of the run of a check with this key."""
        return Purpose(self.text, self.facts.model_copy(update={"check": key}))


def parse_old_purpose(text: str) -> PurposeFacts:
    """Return the facts that the purpose's text holds.

    OLD JOURNALS: events that were written before purposes had facts have only this text. Nothing else reads it.
    """
    if found := _OLD_QUEUE.fullmatch(text):
        return PurposeFacts(kind="queue", round=found["round"], detail=found["detail"] or "")
    if found := _OLD_ATTEMPT.fullmatch(text):
        task, attempt = TaskId(found["task"]), int(found["attempt"])
        return PurposeFacts(kind="attempt", task=task, attempt=attempt, detail=found["detail"] or "")
    if found := _OLD_PLANNING.fullmatch(text):
        return PurposeFacts(kind="planning", task=TaskId(found["task"]))
    return PurposeFacts()
