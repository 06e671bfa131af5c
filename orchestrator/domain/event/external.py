"""Events of what reaches beyond the run: hooks, notifications, pushes."""

from typing import Literal

from orchestrator.domain.event.base import Done, Intent
from orchestrator.domain.hooks import HookDecision, HookPoint
from orchestrator.domain.ids import CommitId
from orchestrator.domain.text.blob_text import Text

NotificationChannel = Literal["command", "dir", "desktop", "webhook"]


class HookStarted(Intent):
    """A hook is about to run. `hook` is its place in the configuration, from 1; `input` what it reads on stdin."""

    kind: Literal["hook.started"] = "hook.started"
    point: HookPoint
    hook: int
    command: str
    is_trusted: bool
    input: Text


class HookFinished(Done):
    """A hook ran and answered; `exit_code` is None if it did not exit by itself."""

    kind: Literal["hook.finished"] = "hook.finished"
    point: HookPoint
    hook: int
    decision: HookDecision
    reason: str = ""
    exit_code: int | None
    stdout: Text
    stderr: Text
    seconds: float


class NotificationSending(Intent):
    """A notification is about everything worth one up to event `through`; `notification` is its idempotency key."""

    kind: Literal["notification.sending"] = "notification.sending"
    channel: NotificationChannel
    notification: str
    through: int


class NotificationSent(Done):
    """The result of a notification; `is_sent` is None if nobody knows, because the engine died meanwhile."""

    kind: Literal["notification.sent"] = "notification.sent"
    channel: NotificationChannel
    through: int
    is_sent: bool | None
    detail: str = ""


class PushStarted(Intent):
    """The PR branch is about to be pushed."""

    kind: Literal["push.started"] = "push.started"
    remote: str
    branch: str
    commit: CommitId


class PushFinished(Done):
    """The remote's branch stands at the commit."""

    kind: Literal["push.finished"] = "push.finished"
    remote: str
    branch: str
    commit: CommitId
