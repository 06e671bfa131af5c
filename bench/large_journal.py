"""Journals of large runs for measurements: a slice of a run that took place, copied as often as is asked for.

The copies have tasks, commits and trees of their own, and all that real events have: conversations, receipts, trials,
landings. What git would have to hold of them is not there, but for the slice that took place: it comes last.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from orchestrator.domain.event import Event, RecordedEvent, format_event_body, parse_event
from orchestrator.domain.event.landing import LandingFinished
from orchestrator.domain.event.work import AttemptStarted, ModelCalled, PlanSubmitted, TaskCreated
from orchestrator.domain.ids import ROOT_TASK, TaskId, is_at_or_below

REAL_SLICE = TaskId("s0")
"""The slice that took place: a chain of tasks, each on top of the one before."""
_NAME = re.compile(rf"\b{REAL_SLICE}\b")
_OBJECT = re.compile(r"\b[0-9a-f]{40}\b")
_ROUND = re.compile(r"\bround (\d+)\b")


@dataclass(frozen=True)
class RunParts:
    """The events of a run with one slice: before the slice is planned, its plan, and the work at its tasks.

    `known` are the objects of git that are the same in all copies.
    """

    beginning: Sequence[Event]
    plan: Sequence[Event]
    work: Sequence[Event]
    known: frozenset[str]

    @property
    def task_count(self) -> int:
        """The number of the slice's tasks."""
        return sum(isinstance(event, TaskCreated) for event in self.plan)

    def copy_plan(self, number: int) -> Iterator[Event]:
        """Yield the events by which a slice is planned; number 0 is the one that took place."""
        return self._copy_events(self.plan, number)

    def copy_work(self, number: int) -> Iterator[Event]:
        """Yield the events of the work at a slice, to its end."""
        return self._copy_events(self.work, number)

    def _copy_events(self, events: Sequence[Event], number: int) -> Iterator[Event]:
        for event in events:
            yield self._copy_event(event, number) if number else event

    def _copy_event(self, event: Event, number: int) -> Event:
        """Return an event of another slice, whose objects in git are others too."""
        body = _NAME.sub(f"s{number}", format_event_body(event))
        body = _OBJECT.sub(lambda found: self._name_object(found[0], number), body)
        body = _ROUND.sub(lambda found: f"round {number}{found[1]:0>3}", body)
        return parse_event(event.kind, event.v, body)

    def _name_object(self, name: str, number: int) -> str:
        if name in self.known:
            return name
        return hashlib.sha1(f"{name} {number}".encode(), usedforsecurity=False).hexdigest()

    def list_beginning(self, slices: int) -> list[Event]:
        """Return the first events, with a plan of the root's that has so many slices."""
        listed = list[Event]()
        for event in self.beginning:
            if isinstance(event, PlanSubmitted):
                drafts = []
                for number in range(slices):
                    drafts.append(event.plan.tasks[0].model_copy(update={"key": f"s{number}"}))
                plan = event.plan.model_copy(update={"tasks": tuple(drafts)})
                listed.append(event.model_copy(update={"plan": plan}))
                continue
            listed.append(event)
            if isinstance(event, TaskCreated) and event.spec.id == REAL_SLICE:
                listed += (self._copy_event(event, number) for number in range(1, slices))
        return listed


def split_run(events: Sequence[Event]) -> RunParts:
    """Return the parts of a run whose root planned one slice, whose work is over before the root plans again."""
    places = [place for place, event in enumerate(events) if _is_about_slice(event)]
    begun = next(place for place, event in enumerate(events) if isinstance(event, AttemptStarted))
    created, end = places[0] + 1, places[-1] + 1
    known = set(_OBJECT.findall(json.dumps([format_event_body(event) for event in events[:begun]])))
    return RunParts(events[:created], events[created:begun], events[begun:end], frozenset(known))


def _is_about_slice(event: Event) -> bool:
    return event.task is not None and event.task != ROOT_TASK and is_at_or_below(event.task, REAL_SLICE)


def cut_run(parts: RunParts) -> tuple[list[Event], LandingFinished]:
    """Return the events of the slice that took place up to a call of the last worker, and the last landing in them."""
    begun = max(place for place, event in enumerate(parts.work) if isinstance(event, AttemptStarted))
    place = next(place for place in range(begun, len(parts.work)) if isinstance(parts.work[place], ModelCalled))
    kept = parts.work[: place + 1]
    landed = [event for event in kept if isinstance(event, LandingFinished)]
    return [*parts.plan, *kept], landed[-1]


def record_events(events: Iterable[Event], after: int, start: datetime) -> Iterator[RecordedEvent]:
    """Yield events with their places and times, a tenth of a second apart."""
    for seq, event in enumerate(events, after + 1):
        yield RecordedEvent(seq, start + timedelta(milliseconds=100 * seq), event)
