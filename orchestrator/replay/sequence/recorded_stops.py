"""The calls of tools that people ended in a recording: by a stop, or by words that did not wait."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from orchestrator.domain.commands.definitions import StopCall, Tell
from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.event.people import CommandTaken, WordsDelivered
from orchestrator.domain.event.work import ToolCalled, ToolReturned
from orchestrator.domain.ids import SessionId, TaskId, parse_effect_name


@dataclass(frozen=True)
class RecordedStop:
    """A recorded stop: the person's words, and the seconds after which the call ended, 0 if it was not made again."""

    taken: CommandTaken
    after_s: float


def find_stops(events: Sequence[RecordedEvent]) -> Mapping[str, RecordedStop]:
    """Return the calls that were stopped, by the names of their effects."""
    search = _StopSearch()
    for recorded in events:
        event = recorded.event
        match event:
            case ToolCalled():
                search.begin_call(event)
            case ToolReturned():
                search.end_call(event)
            case CommandTaken(refused=""):
                search.take_command(event)
            case WordsDelivered():
                search.urgent.pop(event.task, None)
    return search.stops


class _StopSearch:
    """The calls that run, what was said of them, and what of `urgent` words to tasks nobody has heard yet."""

    def __init__(self) -> None:
        self.stops: dict[str, RecordedStop] = {}
        self.urgent: dict[TaskId | None, CommandTaken] = {}
        self._running: dict[SessionId, ToolCalled] = {}
        self._asked: dict[str, tuple[str, CommandTaken]] = {}

    def begin_call(self, called: ToolCalled) -> None:
        """Note a call; one that begins while words do not wait is ended before it is made."""
        self._running[called.session] = called
        if taken := self.urgent.get(called.task):
            self._asked[parse_effect_name(called.key)] = ("", taken)

    def take_command(self, taken: CommandTaken) -> None:
        """Note what a command ends."""
        command = taken.command
        if isinstance(command, StopCall):
            self._ask_to_stop([self._running[command.session]], taken)
        elif isinstance(command, Tell) and command.is_now:
            self.urgent[command.task] = taken
            self._ask_to_stop((call for call in self._running.values() if call.task == command.task), taken)

    def end_call(self, returned: ToolReturned) -> None:
        """Note the end of a call, and that it was stopped if somebody asked for that."""
        name = parse_effect_name(returned.key)
        self._running.pop(returned.session, None)
        if name in self._asked:
            key, taken = self._asked[name]
            self.stops[name] = RecordedStop(taken, returned.seconds if returned.key == key else 0.0)

    def _ask_to_stop(self, calls: Iterable[ToolCalled], taken: CommandTaken) -> None:
        for call in calls:
            self._asked[parse_effect_name(call.key)] = (call.key, taken)
