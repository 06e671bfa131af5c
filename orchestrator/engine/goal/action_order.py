"""The order in which due actions begin."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

from orchestrator.domain.ids import TaskId, UnitId
from orchestrator.domain.run.state import RunState
from orchestrator.engine.goal.actions import Action


class ActionOrder(Protocol):
    """Decides when an action begins.

    `gathers_news` is false where the order itself says when a planner's round begins, so that none waits for time, and
    on what a candidate is tested.
    """

    gathers_news: bool

    @property
    def plans_beside_baseline(self) -> bool:
        """False where the first planner waits until the gate has run on the base."""

    def wait_for_turn(self, action: Action, state: RunState) -> AbstractAsyncContextManager[Action]:
        """Wait for the action's turn; what is to be done is the value, and done when the block is left."""

    async def await_composition(self, task: TaskId, number: int) -> Sequence[UnitId] | None:
        """Wait until it is time to compose an attempt's candidate with others; return these, None for no composing."""

    def on_waiting(self, busy: int) -> None:
        """Note that the engine has begun all that is due, and waits for one of `busy` actions to end."""


class ImmediateOrder:
    """Everything begins as soon as it is due."""

    gathers_news = True
    plans_beside_baseline = True

    @asynccontextmanager
    async def wait_for_turn(self, action: Action, state: RunState) -> AsyncIterator[Action]:
        """Give the action back at once."""
        yield action

    async def await_composition(self, task: TaskId, number: int) -> Sequence[UnitId] | None:
        """Return None: whoever asks is free to choose."""
        return None

    def on_waiting(self, busy: int) -> None:
        """Ignore it."""
