"""The state of a conversation, as far as a run's state holds it."""

from pydantic import Field

from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.chat import Role
from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.ids import SessionId, TaskId, TreeId
from orchestrator.domain.run.task import Exit


class SessionState(FrozenModel):
    """A conversation: `turns` counts finished turns, `replies` answered calls, `failures` failed tries, `carryovers`
    how often it went on with a fresh context.

    `attempt` is the number of the task's latest attempt when it began, 0 before the first. `tree` is its workspace
    after the last turn that has one. `spent` is what its replies cost, `at_risk` what calls may have cost that
    ended without one. It goes on from the session that it `continues`, up to and with turn `until` if that is given.
    """

    session: SessionId
    role: Role
    task: TaskId | None
    model: str
    turns: int = 0
    replies: int = 0
    failures: int = 0
    carryovers: int = 0
    ended: Exit | None = None
    attempt: int = 0
    continues: SessionId | None = None
    until: int | None = None
    tree: TreeId | None = None
    spent: Usage = Field(default_factory=Usage)
    at_risk: Usage = Field(default_factory=Usage)
