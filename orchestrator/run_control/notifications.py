"""Send notifications of a run while it is open, and find those that a run still owes after its end."""

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
from orchestrator.journal.storage.event_reader import EventReader


@asynccontextmanager
async def run_notifications(
    config: Config, journal: Journal, file: Path, root: Path
) -> AsyncIterator[Callable[[], None]]:
    """Send notifications while the block lasts; the yielded function is to be called once recovery is through."""
    if not list_channels(config.notify):
        yield _do_nothing
        return
    from orchestrator.report.log.event_descriptions import describe_event_with_questions

    def describe_recorded(recorded: RecordedEvent) -> str:
        return describe_event_with_questions(recorded.event, journal.state.question_ids)

    notifier = Notifier(config.notify, journal, root, describe_recorded)
    unsent = list(_iterate_unsent_events(file, journal.state, config))
    journal.listeners.append(notifier.queue_event)
    async with notifier.run_senders(unsent):
        yield notifier.start_sending


def has_pending_notifications(config: Config, state: RunState, file: Path) -> bool:
    """Return True if an after_run hook or a notification of an ended run is still to be sent.

    So it is too if a process died while it told somebody: what became of that is to be settled.
    """
    if state.open_intents:
        return True
    for number, hook in enumerate(config.hooks, start=1):
        name = build_effect_name("after_run", RUN_END_OCCURRENCE, number)
        if "after_run" in hook.on and not state.effect_tries[name]:
            return True
    return next(_iterate_unsent_events(file, state, config), None) is not None


def _iterate_unsent_events(file: Path, state: RunState, config: Config) -> Iterator[RecordedEvent]:
    """Yield events that some channel has not been sent; the notifier sorts out which one lags."""
    marks = [state.notified_through.get(channel, 0) for channel in list_channels(config.notify)]
    if not marks:
        return
    with EventReader.open_reader(file) as reader:
        yield from reader.read_kinds(config.notify.on, after=min(marks))


def _do_nothing() -> None:
    """Do nothing: no notification waits for recovery."""
