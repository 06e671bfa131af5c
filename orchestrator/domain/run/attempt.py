"""Attempts: one try at a task, how it began and how it ended."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.ids import CommitId, SessionId, TaskId, TreeId, build_work_session_id
from orchestrator.domain.run.handoff import Handoff
from orchestrator.domain.run.task import EndCause

AttemptMode = Literal["fresh", "revise", "restart", "fork"]


class Exit(StrEnum):
    """The end of an agent's session; each name calls for a different reaction.

    `refused` is the provider's word, `vetoed` that of a hook of the user's.
    """

    FINISHED = "finished"
    OUT_OF_TURNS = "out-of-turns"
    OUT_OF_CONTEXT = "out-of-context"
    OUT_OF_BUDGET = "out-of-budget"
    STUCK = "stuck"
    MALFORMED = "malformed"
    REFUSED = "refused"
    VETOED = "vetoed"
    UNKEEPABLE = "unkeepable"

    @property
    def is_infrastructure(self) -> bool:
        """True if a model or its provider failed, which says nothing about the task."""
        return self in {Exit.REFUSED, Exit.MALFORMED}

    @property
    def is_out_of_room(self) -> bool:
        """True if the session was too short for its task."""
        return self in {Exit.OUT_OF_TURNS, Exit.OUT_OF_CONTEXT}


CAUSE_BY_EXIT: Mapping[Exit, EndCause] = {
    **dict.fromkeys((Exit.OUT_OF_TURNS, Exit.OUT_OF_CONTEXT, Exit.STUCK, Exit.UNKEEPABLE), EndCause.UNFINISHED),
    Exit.OUT_OF_BUDGET: EndCause.BUDGET_SPENT,
    Exit.MALFORMED: EndCause.MODEL_UNREADABLE,
    Exit.REFUSED: EndCause.MODEL_REFUSED,
    Exit.VETOED: EndCause.REFUSED_BY_HOOK,
}
"""The cause that follows from each end of a session that gave no result."""


class Fork(FrozenModel):
    """The turn at which a conversation leaves another: after `turn` (from 0) of `session`, with files as in `tree`."""

    session: SessionId
    turn: int
    tree: TreeId | None


class Attempt(FrozenModel):
    """One try at a task. `feedback` is why the one before did not merge; `start` is the candidate it goes on from.

    `note` is what a person tells the worker, `fork` the turn of an earlier attempt that a person had it go on from.
    """

    task: TaskId
    number: int
    mode: AttemptMode
    base: CommitId
    model: str
    start: CommitId | None = None
    feedback: tuple[str, ...] = ()
    handoff: Handoff | None = None
    note: str = ""
    fork: Fork | None = None

    @property
    def session(self) -> SessionId:
        """The worker's conversation."""
        return build_work_session_id(self.task, self.number)
