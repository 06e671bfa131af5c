"""Read the commit that new work starts from, at a moment at which the journal tells all that has landed."""

import anyio

from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.event.landing import LandingStarted
from orchestrator.domain.ids import CommitId
from orchestrator.domain.run.state import RunState
from orchestrator.engine.context import RunContext


async def read_settled_start(context: RunContext) -> CommitId:
    """Return the commit that new work starts from, once no landing is under way.

    The commit and the state belong together until the caller waits for something else.

    Raises:
        PersonNeeded: somebody moved the branch away from what has landed, or made it red.
    """
    while True:
        await _wait_for_landing_end(context)
        landed = len(context.state.landings)
        commit = await context.read_start_commit()
        if landed == len(context.state.landings) and not _is_landing(context.state):
            return commit


async def _wait_for_landing_end(context: RunContext) -> None:
    ended = anyio.Event()

    def look_at_landing(_recorded: RecordedEvent) -> None:
        if not _is_landing(context.state):
            ended.set()

    context.journal.listeners.append(look_at_landing)
    try:
        if _is_landing(context.state):
            await ended.wait()
    finally:
        context.journal.listeners.remove(look_at_landing)


def _is_landing(state: RunState) -> bool:
    return any(isinstance(intent, LandingStarted) for intent in state.open_intents.values())
