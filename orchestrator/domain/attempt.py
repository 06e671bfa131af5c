"""Attempts: one try at a task, how it began and how it ended."""

from enum import StrEnum
from typing import Literal

from orchestrator.domain.base import Frozen
from orchestrator.domain.handoff import Handoff
from orchestrator.domain.ids import CommitId, TaskId

AttemptMode = Literal["fresh", "revise", "restart"]


class Exit(StrEnum):
    """How an agent's session ended; each name calls for a different reaction."""

    FINISHED = "finished"
    OUT_OF_TURNS = "out-of-turns"
    OUT_OF_CONTEXT = "out-of-context"
    OUT_OF_BUDGET = "out-of-budget"
    STUCK = "stuck"
    MALFORMED = "malformed"
    REFUSED = "refused"
    UNKEEPABLE = "unkeepable"


class Attempt(Frozen):
    """One try at a task. `feedback` is why the one before did not merge; `start` is the candidate it goes on from."""

    task: TaskId
    number: int
    mode: AttemptMode
    base: CommitId
    model: str
    start: CommitId | None = None
    feedback: tuple[str, ...] = ()
    handoff: Handoff | None = None
