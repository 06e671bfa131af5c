"""Events of what reaches beyond the run: hooks, notifications, pushes."""

from typing import Literal

from orchestrator.domain.event.base import Done, Intent
from orchestrator.domain.hooks import HookDecision, HookPoint
from orchestrator.domain.ids import CommitId
from orchestrator.domain.text.blob_text import Text

NotificationChannel = Literal["command", "dir", "desktop", "webhook"]


class HookStarted(Intent, kind="hook.started"):
    """A hook is about to run. `hook` is its place in the configuration, from 1; `input` what it reads on stdin."""

    point: HookPoint
    hook: int
    command: str
    is_trusted: bool
    input: Text


class HookFinished(Done, kind="hook.finished"):
    """A hook ran and answered; `exit_code` is None if it did not exit by itself."""

    point: HookPoint
    hook: int
    decision: HookDecision
    reason: str = ""
    exit_code: int | None
    stdout: Text
    stderr: Text
    seconds: float


class NotificationSending(Intent, kind="notification.sending"):
    """A notification is about everything worth one up to event `through`; `notification` is its idempotency key."""

    channel: NotificationChannel
    notification: str
    through: int


class NotificationSent(Done, kind="notification.sent"):
    """The result of a notification; `is_sent` is None if nobody knows, because the engine died meanwhile."""

    channel: NotificationChannel
    through: int
    is_sent: bool | None
    detail: str = ""


class PushStarted(Intent, kind="push.started"):
    """The PR branch is about to be pushed."""

    remote: str
    branch: str
    commit: CommitId


class PushFinished(Done, kind="push.finished"):
    """The remote's branch stands at the commit."""

    remote: str
    branch: str
    commit: CommitId
