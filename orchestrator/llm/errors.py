"""The failures of one try of a model call, grouped by who has to react.

`code` is the short, stable name under which the journal records the failure; scripts use the same names.
"""

from datetime import datetime
from typing import ClassVar

from orchestrator.errors import OrchestrateError


class ModelError(OrchestrateError):
    """One try failed. `is_transient` says whether the same request may succeed later."""

    code: ClassVar[str] = "failed"
    is_transient: ClassVar[bool] = False
    is_costly: ClassVar[bool] = False
    """Whether a try costs so much, in time or money, that `timeout_tries` and not `tries` bounds them."""

    def __init__(self, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s
        """How long the provider asked to wait, in seconds; None when it did not say."""
        self.pool = ""
        """The quota pool that this failure paused or closed; empty if it did neither."""
        self.opens_at: datetime | None = None
        """When the pool that this failure paused opens again."""
        self.may_be_billed = False
        """Whether the provider had the request and may have charged for an answer that cannot be used."""


class RateLimited(ModelError):
    """The provider asks to slow down; waiting helps."""

    code = "rate-limited"
    is_transient = True
    exit_code = 75


class Unavailable(ModelError):
    """The provider is not there or broke off: 5xx, refused or reset connection, a reply that is no reply."""

    code = "unavailable"
    is_transient = True
    exit_code = 75


class CallTimedOut(ModelError):
    """No complete reply came within the request's `timeout_s`."""

    code = "timed-out"
    is_transient = True
    is_costly = True
    exit_code = 75


class ReplyTooLarge(ModelError):
    """The reply is larger than `max_reply_mb` allows and was given up before it was read to its end."""

    code = "reply-too-large"
    is_transient = True
    is_costly = True
    exit_code = 75


class CircuitOpen(ModelError):
    """The provider failed several times in a row and is left alone for a while; another may be asked meanwhile."""

    code = "circuit-open"
    exit_code = 75


class QuotaExhausted(ModelError):
    """The account's hard quota or credit is used up; waiting a little does not help, a person has to act."""

    code = "quota-exhausted"
    exit_code = 6


class ContextOverflow(ModelError):
    """The conversation is longer than the model's window; the session has to shorten it."""

    code = "context-overflow"


class CredentialsMissing(ModelError):
    """The key is missing or was refused; the user has to set it."""

    code = "credentials-missing"
    exit_code = 7


class UnknownModel(ModelError):
    """Nobody knows a provider or model of this name; the user has to correct the configuration."""

    code = "unknown-model"
    exit_code = 2


class RequestRefused(ModelError):
    """The provider refuses this request and would refuse it again: bad parameters, content policy."""

    code = "request-refused"


class ScriptExhausted(ModelError):
    """A scripted model was asked more often than its script has replies."""

    code = "script-exhausted"
    exit_code = 2


ERROR_CLASSES = {error.code: error for error in ModelError.__subclasses__() if error is not CircuitOpen}
"""Every class by its `code`, but for the one that says that nobody was asked."""
