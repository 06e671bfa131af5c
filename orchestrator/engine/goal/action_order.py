"""The order in which due actions begin."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

from orchestrator.domain.run.state import RunState
from orchestrator.engine.goal.actions import Action


class ActionOrder(Protocol):
    """Decides when an action begins.

    `gathers_news` is false where the order itself says when a planner's round begins, so that none waits for time.
    """

    gathers_news: bool

    def wait_for_turn(self, action: Action, state: RunState) -> AbstractAsyncContextManager[Action]:
        """Wait for the action's turn; what is to be done is the value, and done when the block is left."""

    def on_waiting(self, busy: int) -> None:
        """Note that the engine has begun all that is due, and waits for one of `busy` actions to end."""


class ImmediateOrder:
    """Everything begins as soon as it is due."""

    gathers_news = True

    @asynccontextmanager
    async def wait_for_turn(self, action: Action, state: RunState) -> AsyncIterator[Action]:
        """Give the action back at once."""
        yield action

    def on_waiting(self, busy: int) -> None:
        """Ignore it."""
