"""Work that cannot be kept because of what it is, told apart from trouble of the host."""

from orchestrator.errors import EnvironmentProblem
from worktrees.errors import SnapshotTooLarge


def find_snapshot_obstacle(problem: EnvironmentProblem) -> str | None:
    """Return why no snapshot can be taken of what was left in a workspace; None if that is not what the problem is."""
    cause = problem.__cause__
    return str(cause) if isinstance(cause, SnapshotTooLarge) else None
