"""Hands whose workspaces are booked: an intent before each is prepared, a done event after."""

from collections.abc import Mapping

from orchestrator.domain.event.work import WorkspaceLeased, WorkspaceLeasing
from orchestrator.domain.ids import CommitId
from orchestrator.ports.effect import effect
from orchestrator.ports.hands import Hands, Workspace
from orchestrator.ports.ledger import Ledger


class JournaledHands:
    """A `ports.Hands` around another one."""

    def __init__(self, hands: Hands, ledger: Ledger) -> None:
        self._hands = hands
        self._ledger = ledger

    @property
    def refusal(self) -> str | None:
        """As the hands below say."""
        return self._hands.refusal

    @property
    def environment(self) -> str:
        """As the hands below say."""
        return self._hands.environment

    @property
    def described(self) -> Mapping[str, str]:
        """As the hands below say."""
        return self._hands.described

    async def open(self, commit: CommitId, purpose: str) -> Workspace:
        """A clean workspace at a commit, booked under its purpose."""
        key = self._ledger.next_key(f"workspace/{purpose}")
        async with effect(self._ledger, WorkspaceLeasing(key=key, purpose=purpose, commit=commit)) as leasing:
            workspace = await self._hands.open(commit, purpose)
            leasing.done = WorkspaceLeased(key=key, name=workspace.name)
        return workspace
