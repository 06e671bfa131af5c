"""The words of people in a recording, by the places of the conversations at which they were told."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from orchestrator.domain.commands.definitions import Tell
from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.event.people import CommandTaken, WordsDelivered
from orchestrator.domain.event.work import TurnEnded
from orchestrator.domain.ids import SessionId
from orchestrator.llm.recorded_model import CallPosition

WordsPosition = tuple[SessionId, int | None]
"""A conversation, and the turn behind which words were told; None for its brief."""


@dataclass(frozen=True)
class RecordedWords:
    """The commands by which people said what was told at each place; `interrupted` are turns that these cut short."""

    by_place: Mapping[WordsPosition, Sequence[CommandTaken]] = field(default_factory=dict)
    interrupted: frozenset[CallPosition] = frozenset()

    def list_words(self, place: WordsPosition, *, is_interruption: bool) -> Sequence[CommandTaken]:
        """Return what is to be said for a place; with `is_interruption` only where it came instead of a reply."""
        if is_interruption and place not in self.interrupted:
            return ()
        return self.by_place.get(place, ())


NO_WORDS = RecordedWords()


def find_told_words(events: Sequence[RecordedEvent]) -> RecordedWords:
    """Return all words that were told in a recording; those that nobody heard changed nothing."""
    said = list(_iterate_said(events))
    places: dict[WordsPosition, Sequence[CommandTaken]] = {}
    for recorded in events:
        event = recorded.event
        if isinstance(event, WordsDelivered):
            places[event.session, event.turn] = [said[_parse_place(name)] for name in event.word_ids]
    return RecordedWords(places, find_interrupted_turns(events))


def find_interrupted_turns(events: Sequence[RecordedEvent]) -> frozenset[CallPosition]:
    """Return the turns of a recording in which a person's words came before the model's reply."""
    found = set[CallPosition]()
    for recorded in events:
        event = recorded.event
        if isinstance(event, TurnEnded) and event.is_interrupted:
            found.add((event.session, event.turn))
    return frozenset(found)


def _iterate_said(events: Sequence[RecordedEvent]) -> Iterator[CommandTaken]:
    """Yield the commands that said something, in the order in which their words got their ids."""
    for recorded in events:
        event = recorded.event
        if isinstance(event, CommandTaken) and isinstance(event.command, Tell) and not event.refused:
            yield event


def _parse_place(word_id: str) -> int:
    """Return which of all words it is, counted from 0: `w1` is the first."""
    return int(word_id.removeprefix("w")) - 1
