"""Notifications as a run is opened with them, and what a run still owes that ended before everybody was told."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

from orchestrator.config.model import Config
from orchestrator.domain.event import Recorded
from orchestrator.domain.hooks import AFTER_RUN
from orchestrator.domain.state import RunState
from orchestrator.hooks.notifier import Notifier, channels
from orchestrator.hooks.runner import effect_name_of
from orchestrator.journal.journal import Journal
from orchestrator.journal.store import Store
from orchestrator.report.lines import say


@asynccontextmanager
async def notifying(config: Config, journal: Journal, file: Path, root: Path) -> AsyncIterator[Callable[[], None]]:
    """Notifications while the block lasts; what is given is to be called once recovery is through."""
    if not channels(config.notify):
        yield _nothing
        return
    notifier = Notifier(config.notify, journal, root, lambda recorded: say(recorded.event))
    earlier = list(_behind_marks(file, journal.state, config))
    journal.listeners.append(notifier.recorded)
    async with notifier.alive(earlier):
        yield notifier.begin


def owes(config: Config, state: RunState, file: Path) -> bool:
    """Whether somebody is still to be told of a run that has ended, by an after_run hook or by a notification.

    So it is too if a process died while it told somebody: what became of that is to be settled.
    """
    if state.open_intents:
        return True
    hooks = [number for number, hook in enumerate(config.hooks, start=1) if "after_run" in hook.on]
    if any(not state.tries[effect_name_of("after_run", AFTER_RUN, number)] for number in hooks):
        return True
    return any(True for _ in _behind_marks(file, state, config))


def _behind_marks(file: Path, state: RunState, config: Config) -> Iterator[Recorded]:
    """What is to be told of on some channel; one that lags is told apart by the notifier."""
    marks = [state.notified.get(channel, 0) for channel in channels(config.notify)]
    if not marks:
        return
    store = Store.open_reader(file)
    try:
        yield from store.of_kinds(config.notify.on, after=min(marks))
    finally:
        store.close()


def _nothing() -> None:
    """Nobody waits for recovery."""
