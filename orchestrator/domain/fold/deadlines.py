"""Deadlines of a run by the wall clock: they move along with a clock that is set, and no wait ends by that."""

from datetime import timedelta

from orchestrator.domain.frozen_model import copy_with_changes
from orchestrator.domain.run.state import RunState


def shift_deadlines(state: RunState, by: timedelta) -> None:
    """Move the deadlines of the wall clock: open questions, the forge's checks and the pauses of providers."""
    if state.forge_checks_since is not None:
        state.forge_checks_since += by
    for item, question in state.approvals.items():
        if question.is_open and question.approval.expires_at is not None:
            shifted = copy_with_changes(question.approval, expires_at=question.approval.expires_at + by)
            state.approvals[item] = copy_with_changes(question, approval=shifted)
    for pool, until in state.spend.provider_pauses.items():
        state.spend.provider_pauses[pool] = until + by
