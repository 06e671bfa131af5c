"""Errors on their way from a host to the brain: by kind, and as the same error again."""

from orchestrator.errors import (
    EnvironmentProblem,
    OrchestrateError,
    ProgramGone,
    RunLocked,
    ToolRefused,
    UsageProblem,
    convert_error,
)
from orchestrator.hands.hosts.messages import Failure, FailureKind
from worktrees.errors import SnapshotTooLarge

_KINDS: tuple[tuple[FailureKind, type[OrchestrateError]], ...] = (
    ("tool-refused", ToolRefused),
    ("gone", ProgramGone),
    ("locked", RunLocked),
    ("usage", UsageProblem),
    ("environment", EnvironmentProblem),
)


def build_failure(error: Exception) -> Failure:
    """Return what tells the brain of an error."""
    if isinstance(error.__cause__, SnapshotTooLarge):
        return Failure(kind="too-large", text=str(error.__cause__))
    converted = convert_error(error)
    for kind, error_type in _KINDS:
        if isinstance(converted, error_type):
            return Failure(kind=kind, text=str(converted))
    if isinstance(error, ValueError) and not isinstance(error, UnicodeError):
        return Failure(kind="unknown-call", text=str(error))
    return Failure(kind="environment", text=f"{type(error).__name__}: {error}")


def build_error(failure: Failure, host: str) -> Exception:
    """Return the error that a host told of, as if it had come up here."""
    if failure.kind == "unknown-call":
        return ValueError(failure.text)
    if failure.kind == "too-large":
        problem = EnvironmentProblem(f"No snapshot could be taken on host {host}.")
        problem.__cause__ = SnapshotTooLarge(failure.text)
        return problem
    is_host_trouble = failure.kind in ("environment", "usage")
    return dict(_KINDS)[failure.kind](f"host {host}: {failure.text}" if is_host_trouble else failure.text)
