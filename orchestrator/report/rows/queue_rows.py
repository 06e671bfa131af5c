"""Build the queue of a goal's run as rows: units at the gates, queued, under test, landed or ejected."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain, islice
from typing import ClassVar

from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.event.landing import LandingFinished, TrialJudged, UnitEjected
from orchestrator.domain.ids import TaskId, UnitId, parse_unit_id, parse_unit_task
from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.domain.run.task import TaskStatus
from orchestrator.domain.text.listing import format_count
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.report.rows.activity import Activity
from orchestrator.report.rows.queue_gates import GATE_NAMES, GateName, GateStatus, TaskGates
from orchestrator.report.rows.row_filter import FilteredByAttributes
from orchestrator.report.rows.task_activities import TaskActivities

MOST_ENDED = 200
"""So many of what landed are listed, and as many of what was ejected and of what was refused."""
_CHARS = 300


@dataclass(frozen=True)
class QueueRow(FilteredByAttributes):
    """A unit of the queue. `place` counts from 1 in the order of landing, 0 for what is not queued.

    `at` is when it landed, was ejected or refused, as far as that is recent enough to be known.
    """

    FILTER_FIELDS: ClassVar = {
        "unit": "unit", "task": "task", "state": "activity.filter_values", "attempt": "attempt", "title": "title",
        "reason": "note",
    }  # fmt: skip

    unit: UnitId
    task: TaskId
    title: str
    attempt: int
    activity: Activity
    place: int
    gates: Mapping[GateName, GateStatus]
    note: str = ""
    at: datetime | None = None


QUEUE_KEYS = tuple(QueueRow.FILTER_FIELDS)
"""What a queue can be filtered by."""


def build_queue_rows(state: RunState, recent: Iterable[RecordedEvent] = ()) -> list[QueueRow]:
    """Return queued units, then units at the gates, then units that have ended, newest first."""
    made = _Queue(state)
    ends = _collect_end_times(recent)
    ended = (made.iterate_landed(ends), made.iterate_ejected(ends), made.iterate_refused())
    return [*made.iterate_queued(), *made.iterate_judging(), *chain(*(islice(rows, MOST_ENDED) for rows in ended))]


def render_queue_line(state: RunState) -> str:
    """Return `branch x at 4be21aa  3 landed  2 ejected  last union of 3: red`."""
    head = f"at {state.head[:10]}" if state.head else "not made yet: nothing landed"
    parts = [f"branch {state.run.branch} {head}"]
    if state.landings:
        parts.append(f"{sum(len(landing.units) for landing in state.landings)} landed")
    if state.ejections:
        parts.append(f"{len(state.ejections)} ejected")
    if state.trials:
        parts.append(_describe_trial(state.trials[-1]))
    return "  ".join(parts)


def _describe_trial(trial: TrialJudged) -> str:
    result = "green" if trial.difference.is_green else "red"
    return f"last union of {len(trial.units)}: {result}{' (known)' * trial.cached}"


class _Queue:
    """The queue of one state."""

    def __init__(self, state: RunState) -> None:
        self._state = state
        self._standing = TaskActivities(state)
        self._gates = TaskGates(state, self._standing)

    def iterate_queued(self) -> Iterator[QueueRow]:
        """Yield what the judge let through and has not landed."""
        queued = [task for task in self._state.tasks.values() if task.status == TaskStatus.QUEUED]
        for place, task in enumerate(queued, 1):
            if task.ejection:
                activity = Activity.RETRY
            elif self._gates.is_testing:
                activity = Activity.TEST
            else:
                activity = self._standing.get_activity(task)
            yield self._build_row(task, activity, place)

    def iterate_judging(self) -> Iterator[QueueRow]:
        """Yield what is being judged, longest under way first."""
        for task in self._state.tasks.values():
            if task.status == TaskStatus.JUDGING and task.attempt is not None:
                yield self._build_row(task, self._standing.get_activity(task), 0, _describe_verdict(task))

    def iterate_landed(self, at: Mapping[str, datetime]) -> Iterator[QueueRow]:
        """Yield what landed, newest first."""
        for landing in reversed(self._state.landings):
            for unit in landing.units:
                yield self._build_ended_row(unit, Activity.DONE, f"landed at {landing.new[:10]}", at.get(unit))

    def iterate_ejected(self, at: Mapping[str, datetime]) -> Iterator[QueueRow]:
        """Yield what was ejected, newest first; a task may appear with several of its attempts."""
        for ejection in reversed(self._state.ejections):
            yield self._build_ended_row(
                ejection.unit, Activity.FAIL, describe_ejection(ejection), at.get(ejection.unit)
            )

    def iterate_refused(self) -> Iterator[QueueRow]:
        """Yield the tasks that a verdict or a person ended."""
        for task in self._state.tasks.values():
            if task.status.is_terminal and not task.status.is_reached and task.verdict and not task.ejection:
                yield self._build_row(
                    task, self._standing.get_activity(task), 0, task.reason or _describe_verdict(task)
                )

    def _build_ended_row(self, unit: UnitId, doing: Activity, note: str, at: datetime | None) -> QueueRow:
        task = self._state.tasks.get(parse_unit_task(unit))
        if task is None:
            return QueueRow(unit, parse_unit_task(unit), "", 0, doing, 0, {}, note, at)
        row = self._build_row(task, doing, 0, note)
        gates = dict(row.gates)
        if row.unit != unit:  # an earlier attempt, which passed all gates before the union
            gates = dict.fromkeys(GATE_NAMES, GateStatus("ok"))
            del gates["person"]
        gates["union"] = GateStatus("ok" if doing == Activity.DONE else "bad")
        attempt = parse_unit_id(unit)
        return replace(row, unit=unit, attempt=attempt.number if attempt else 0, gates=gates, at=at)

    def _build_row(self, task: TaskState, doing: Activity, place: int, note: str = "") -> QueueRow:
        return QueueRow(
            unit=task.unit,
            task=task.spec.id,
            title=to_one_line(task.spec.title, _CHARS),
            attempt=task.attempt.number if task.attempt else 0,
            activity=doing,
            place=place,
            gates=self._gates.get_gate_statuses(task),
            note=to_one_line(note, _CHARS),
        )


def describe_ejection(ejection: UnitEjected) -> str:
    """Return why a unit did not land, in one line."""
    if ejection.conflict:
        return f"conflicts in {', '.join(ejection.conflict)}"
    found = ejection.difference
    lost = [*found.problems, *found.new_failures, *found.missing_tests, *found.unsettled]
    count = len(found.new_failures) + len(found.missing_tests)
    effect = f"breaks {format_count(count, 'test')}" if count else "red"
    if ejection.partners:
        effect += f" together with {', '.join(ejection.partners)}"
    return f"{effect}: {', '.join(lost[:5])}"


def _describe_verdict(task: TaskState) -> str:
    if task.verdict is None:
        return ""
    verdict = task.verdict.verdict
    return f"{verdict.kind}: {'; '.join(verdict.reasons)}".rstrip(": ")


def _collect_end_times(recent: Iterable[RecordedEvent]) -> Mapping[str, datetime]:
    found: dict[str, datetime] = {}
    for recorded in recent:
        if isinstance(recorded.event, LandingFinished):
            found |= dict.fromkeys(recorded.event.units, recorded.at)
        elif isinstance(recorded.event, UnitEjected):
            found[recorded.event.unit] = recorded.at
    return found
