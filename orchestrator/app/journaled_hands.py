"""Hands that record their workspaces: an intent before each is prepared, a done event after."""

from collections.abc import Mapping

from orchestrator.app.model_loading import wait_for_models
from orchestrator.domain.event.work import WorkspaceLeased, WorkspaceLeasing
from orchestrator.domain.ids import CommitId
from orchestrator.domain.purpose import Purpose
from orchestrator.ports.effect import record_effect
from orchestrator.ports.hands import Hands, Workspace
from orchestrator.ports.ledger import Ledger


class JournaledHands:
    """A `ports.Hands` that wraps another one and records its workspaces."""

    def __init__(self, hands: Hands, ledger: Ledger) -> None:
        self._hands = hands
        self._ledger = ledger

    @property
    def refusal_reason(self) -> str | None:
        """The reason of the wrapped hands."""
        return self._hands.refusal_reason

    @property
    def slots(self) -> int:
        """The slots of the wrapped hands."""
        return self._hands.slots

    @property
    def environment_hash(self) -> str:
        """The hash of the wrapped hands."""
        return self._hands.environment_hash

    @property
    def policy_summary(self) -> Mapping[str, str]:
        """The summary of the wrapped hands."""
        return self._hands.policy_summary

    async def open_workspace(self, commit: CommitId, purpose: Purpose) -> Workspace:
        """Open a clean workspace at a commit, and record it with its purpose."""
        await wait_for_models()
        key = self._ledger.build_next_key(f"workspace/{purpose.text}")
        intent = WorkspaceLeasing(key=key, purpose=purpose.text, commit=commit, facts=purpose.facts)
        async with record_effect(self._ledger, intent) as leasing:
            workspace = await self._hands.open_workspace(commit, purpose)
            leasing.done = WorkspaceLeased(key=key, name=workspace.name, host=workspace.host)
        return workspace
