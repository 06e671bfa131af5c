"""Events of people: commands taken from the inbox, questions put to them and answered."""

from datetime import datetime
from typing import Literal

from orchestrator.domain.commands.definitions import Command
from orchestrator.domain.event.base import Event
from orchestrator.domain.run.approval import Approval, ApprovalDecision


class CommandTaken(Event):
    """A command left the inbox. `refused` says why it changes nothing; empty when it does."""

    kind: Literal["command.taken"] = "command.taken"
    key: str
    by: str
    sent_at: datetime
    command: Command
    refused: str = ""


class ApprovalRequested(Event):
    """A person is asked."""

    kind: Literal["approval.requested"] = "approval.requested"
    approval: Approval


class ApprovalDecided(Event):
    """A person answered, or the time to answer was over."""

    kind: Literal["approval.decided"] = "approval.decided"
    item: str
    decision: ApprovalDecision
    by: str
    reason: str = ""
