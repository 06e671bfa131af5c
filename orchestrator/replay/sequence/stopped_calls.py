"""Calls of tools that a person stopped in a recording are stopped again, when they have run for as long as then."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio

from orchestrator.domain.commands.definitions import StopCall
from orchestrator.domain.event import Event, RecordedEvent
from orchestrator.domain.event.people import CommandTaken
from orchestrator.domain.event.work import ToolCalled, ToolReturned
from orchestrator.domain.ids import SessionId, parse_effect_name
from orchestrator.journal.journal import Journal
from orchestrator.ports.ledger import Clock


@dataclass(frozen=True)
class RecordedStop:
    """A recorded stop: the person's words, and the seconds after which the call ended, 0 if it was not made again."""

    taken: CommandTaken
    after_s: float


def find_stops(events: Sequence[RecordedEvent]) -> Mapping[str, RecordedStop]:
    """Return the calls that were stopped, by the names of their effects."""
    running: dict[SessionId, str] = {}
    asked: dict[str, tuple[str, CommandTaken]] = {}
    stops: dict[str, RecordedStop] = {}
    for _, _, event in events:
        if isinstance(event, ToolCalled):
            running[event.session] = event.key
        elif isinstance(event, CommandTaken) and isinstance(event.command, StopCall) and not event.refused:
            key = running[event.command.session]
            asked[parse_effect_name(key)] = (key, event)
        elif isinstance(event, ToolReturned) and parse_effect_name(event.key) in asked:
            key, taken = asked[parse_effect_name(event.key)]
            stops[parse_effect_name(key)] = RecordedStop(taken, event.seconds if event.key == key else 0.0)
    return stops


class StoppingJournal(Journal):
    """A journal in which people stop calls as they did then."""

    def __init__(self, directory: Path, clock: Clock, stops: Mapping[str, RecordedStop]) -> None:
        super().__init__(directory, clock)
        self._stops = stops

    async def append(self, *events: Event) -> None:
        """Make the events durable; a call that was not made then is stopped before it is made.

        Raises:
            JournalProblem: they could not be written.
        """
        await super().append(*events)
        for event in events:
            stop = self._stops.get(parse_effect_name(event.key)) if isinstance(event, ToolCalled) else None
            if stop and stop.after_s == 0:
                await super().append(stop.taken)

    async def wait_for_call_stop(self, call: str) -> None:
        """Wait for as long as the call ran, and stop it; for ever, if nobody stopped it then."""
        if stop := self._stops.get(call):
            await anyio.sleep(stop.after_s)
            await self.append(stop.taken)
        await super().wait_for_call_stop(call)
