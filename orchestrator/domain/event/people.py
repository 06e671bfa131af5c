"""Events of people: commands taken from the inbox, questions put to them and answered."""

from datetime import datetime

from orchestrator.domain.commands.definitions import Command
from orchestrator.domain.event.base import Event
from orchestrator.domain.ids import SessionId, TaskId
from orchestrator.domain.run.approval import Approval, ApprovalDecision
from orchestrator.domain.run.person_review import ReviewComment
from orchestrator.domain.run.plan import Plan


class CommandTaken(Event, kind="command.taken"):
    """A command left the inbox. `refused` says why it changes nothing; empty when it does."""

    key: str
    by: str
    sent_at: datetime
    command: Command
    refused: str = ""


class PlanGiven(Event, kind="plan.given"):
    """A person gave the plan that the root's planner would have made first; `proposed` is that of a planner, if any."""

    plan: Plan
    proposed: Plan | None = None


class PlanEdited(Event, kind="plan.edited"):
    """A person approved another plan in the place of the one that the planner `proposed` in its round.

    `task` is the planner's own. `withdrawn` are the tasks of the proposed plan that fall away, or are made anew.
    """

    round: int
    by: str
    plan: Plan
    proposed: Plan
    withdrawn: tuple[TaskId, ...] = ()


class WordsDelivered(Event, kind="words.delivered"):
    """A conversation about a task is told what people said: in its brief, or after its turn `turn`."""

    session: SessionId
    turn: int | None = None
    word_ids: tuple[str, ...]


class ApprovalRequested(Event, kind="approval.requested"):
    """A person is asked."""

    approval: Approval


class ApprovalDecided(Event, kind="approval.decided"):
    """A person answered, or the time to answer was over. `comments` go with what is sent back."""

    item: str
    decision: ApprovalDecision
    by: str
    reason: str = ""
    comments: tuple[ReviewComment, ...] = ()
