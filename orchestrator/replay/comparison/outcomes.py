"""Holding what came of a replay against what came of the recorded run: landings, verdicts, files, the end."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter

from orchestrator.domain.event import Event, RecordedEvent
from orchestrator.domain.event.landing import LandingFinished, RewindFinished, UnitEjected
from orchestrator.domain.event.migration import FileMoved
from orchestrator.domain.event.run import IterationJudged, RunEnded
from orchestrator.domain.event.work import CandidateTaken, PlanSubmitted, TaskEnded, VerdictGiven
from orchestrator.domain.migration.files import FileStatus
from orchestrator.domain.run.state import RunState
from orchestrator.replay.comparison.report_model import ComparedLanding
from orchestrator.replay.comparison.requests import Divergence


def pair_landings(then: RunState, now: RunState) -> tuple[ComparedLanding, ...]:
    """Return the landings side by side. What a replay landed beyond a recording that was cut off is left out."""
    count = max(len(then.landings), len(now.landings)) if then.ended else len(then.landings)
    return tuple(
        _build_pair(number, _get_landing(then.landings, number), _get_landing(now.landings, number))
        for number in range(1, count + 1)
    )


def get_final_tree(state: RunState) -> str:
    """Return the tree of what has landed; the base's while nothing has."""
    if state.landings:
        return state.landings[-1].tree
    return state.run.base_tree


def find_changed_facts(then: Sequence[RecordedEvent], now: Sequence[RecordedEvent]) -> Iterator[Divergence]:
    """Yield the recording's facts that the replay has otherwise, in recorded order, without what it has not come to."""
    replayed = {(name, time): value for _, name, time, value in _number_facts(now)}
    seen: set[str] = set()
    for recorded, name, time, value in _number_facts(then):
        if name not in seen and (other := replayed.get((name, time), value)) != value:
            seen.add(name)
            yield Divergence(seq=recorded.seq, what=f"{name}: {value} recorded, {other} replayed")


def find_missing_facts(then: Sequence[RecordedEvent], now: Sequence[RecordedEvent]) -> Iterator[Divergence]:
    """Yield facts of the recording that the replay, which has ended, never came to."""
    replayed = {name for recorded in now for name, _ in _iterate_facts(recorded.event)}
    for recorded, name, _, value in _number_facts(then):
        if name not in replayed:
            yield Divergence(seq=recorded.seq, what=f"{name}: {value} recorded, nothing replayed")


def _number_facts(events: Sequence[RecordedEvent]) -> Iterator[tuple[RecordedEvent, str, int, str]]:
    """Yield every fact with which time it is that there is one of this name: a file may be ejected before it lands."""
    times: Counter[str] = Counter()
    for recorded in events:
        for name, value in _iterate_facts(recorded.event):
            times[name] += 1
            yield recorded, name, times[name], value


def _iterate_facts(event: Event) -> Iterator[tuple[str, str]]:
    match event:
        case LandingFinished():
            for unit in event.units:
                yield f"queue's word on {unit}", "landed"
        case FileMoved(status=FileStatus.MERGED | FileStatus.REJECTED | FileStatus.UNCHANGED | FileStatus.NEEDS_HUMAN):
            yield f"end of {event.path}", f"{event.status} {event.blob or ''}".strip()
        case PlanSubmitted():
            yield f"plan {event.round} of {event.task}", ", ".join(map(attrgetter("key"), event.plan.tasks))
        case _ if type(event) in _FACTS:
            name, value = _FACTS[type(event)]
            yield name.format(event), value.format(event)


_FACTS: Mapping[type[Event], tuple[str, str]] = {
    CandidateTaken: ("tree of attempt {0.number} at {0.task}", "{0.tree}"),
    VerdictGiven: ("verdict on attempt {0.number} at {0.task}", "{0.verdict.kind}"),
    TaskEnded: ("end of task {0.task}", "{0.status}"),
    IterationJudged: ("verdict on iteration {0.number}", "{0.verdict.decision}"),
    UnitEjected: ("queue's word on {0.unit}", "ejected"),
    RewindFinished: ("state that followed iteration {0.iteration}", "{0.new}"),
    RunEnded: ("outcome", "{0.outcome}"),
}
"""The facts that events state in their own fields: name and value."""


def _build_pair(number: int, then: LandingFinished | None, now: LandingFinished | None) -> ComparedLanding:
    one, recorded, replayed = then or now, then and then.tree, now and now.tree
    return ComparedLanding(
        number=number,
        units=one.units if one else (),
        recorded=recorded,
        replayed=replayed,
        same=recorded == replayed,
        same_commit=then is not None and now is not None and then.new == now.new,
    )


def _get_landing(landings: Sequence[LandingFinished], number: int) -> LandingFinished | None:
    if number <= len(landings):
        return landings[number - 1]
    return None


def has_same_environment(then: RunState, now: RunState) -> bool:
    """Return True if tool chains and policy were on the base what they are now, as far as both have tested it."""
    before, after = _list_environments(then), _list_environments(now)
    return all(before[name] == after[name] for name in before.keys() & after.keys())


def _list_environments(state: RunState) -> Mapping[str, str]:
    return {name: receipt.environment for name, receipt in state.get_baseline_receipts().items()}
