"""Notifications as a run is opened with them, and what a run still owes that ended before everybody was told."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

from orchestrator.config.model import Config
from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.hooks import RUN_END_OCCURRENCE
from orchestrator.domain.run.state import RunState
from orchestrator.hooks.notifier import Notifier, list_channels
from orchestrator.hooks.runner import build_effect_name
from orchestrator.journal.journal import Journal
from orchestrator.journal.storage.event_store import EventStore
from orchestrator.report.log.event_descriptions import describe_event


@asynccontextmanager
async def run_notifications(
    config: Config, journal: Journal, file: Path, root: Path
) -> AsyncIterator[Callable[[], None]]:
    """Notifications while the block lasts; what is given is to be called once recovery is through."""
    if not list_channels(config.notify):
        yield _nothing
        return
    notifier = Notifier(config.notify, journal, root, lambda recorded: describe_event(recorded.event))
    earlier = list(_behind_marks(file, journal.state, config))
    journal.listeners.append(notifier.queue_event)
    async with notifier.run_senders(earlier):
        yield notifier.start_sending


def has_pending_notifications(config: Config, state: RunState, file: Path) -> bool:
    """Whether somebody is still to be told of a run that has ended, by an after_run hook or by a notification.

    So it is too if a process died while it told somebody: what became of that is to be settled.
    """
    if state.open_intents:
        return True
    hooks = []
    for number, hook in enumerate(config.hooks, start=1):
        if "after_run" in hook.on:
            hooks.append(number)
    if any(not state.effect_tries[build_effect_name("after_run", RUN_END_OCCURRENCE, number)] for number in hooks):
        return True
    return any(True for _ in _behind_marks(file, state, config))


def _behind_marks(file: Path, state: RunState, config: Config) -> Iterator[RecordedEvent]:
    """What is to be told of on some channel; one that lags is told apart by the notifier."""
    marks = []
    for channel in list_channels(config.notify):
        marks.append(state.notified_through.get(channel, 0))
    if not marks:
        return
    store = EventStore.open_reader(file)
    try:
        yield from store.read_kinds(config.notify.on, after=min(marks))
    finally:
        store.close()


def _nothing() -> None:
    """Nobody waits for recovery."""
