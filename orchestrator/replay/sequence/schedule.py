"""From a recording to the order that a replay keeps to."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.event.landing import (
    LandingFinished,
    LandingStarted,
    RewindFinished,
    RewindStarted,
    UnitEjected,
)
from orchestrator.domain.event.work import (
    AttemptStarted,
    CandidateComposed,
    ModelFailed,
    ModelReplied,
    PlanningStarted,
    WorkspaceLeasing,
)
from orchestrator.domain.ids import CommitId, TaskId, UnitId
from orchestrator.domain.purpose import PurposeFacts
from orchestrator.replay.recording import RecordedRun
from orchestrator.replay.sequence.milestone_order import MilestoneOrder
from orchestrator.replay.sequence.milestones import MilestoneNamer


@dataclass(frozen=True)
class QueueRound:
    """A round of the queue: the milestone that is its beginning, and its units in landing order."""

    name: str
    units: tuple[UnitId, ...]


Compositions = Mapping[tuple[TaskId, int], tuple[UnitId, ...]]
"""Task and number of an attempt → the units on top of which its candidate was tested, beside what had landed."""


@dataclass(frozen=True)
class ReplaySchedule:
    """The schedule that a replay follows. `seq_by_name` tells which event each milestone was."""

    names: tuple[str, ...]
    seq_by_name: Mapping[str, int]
    rounds: tuple[QueueRound, ...]
    superseded: Mapping[str, frozenset[str]]
    compositions: Compositions

    def build_order(self) -> MilestoneOrder:
        """Return a new order, of which nothing has happened yet."""
        return MilestoneOrder(self.names, self.superseded)


@dataclass(frozen=True)
class BranchMove:
    """A move of the branch to `commit`; `begun` and `ended` are the places of its events."""

    begun: int
    ended: int
    commit: CommitId


def build_schedule(recording: RecordedRun) -> ReplaySchedule:
    """Return the order of what matters in a recording."""
    moves = list_moves(recording.events)
    compositions, composed = _find_compositions(recording.events)
    effective = {move.begun for move in moves} | composed
    namer, named = MilestoneNamer(), dict[str, tuple[float, int]]()
    by_seq: dict[int, str] = {}
    for recorded in recording.events:
        if not _is_effective(recorded, recording, effective):
            continue
        name = namer.find_milestone(recorded.event)
        if name is not None and name not in named:
            named[name] = (_find_position(recorded, recording, moves), recorded.seq)
            by_seq[recorded.seq] = name
    rounds, superseded = [], {}
    for number, one in enumerate(list_rounds(recording.events, moves), start=1):
        name = f"round {number} of the queue"
        named[name] = (one.first_seq - 0.25, one.first_seq)
        rounds.append(QueueRound(name, one.units))
        superseded[name] = frozenset({by_seq[one.result_seq]} if one.result_seq in by_seq else ())
    ordered = sorted(named, key=lambda name: named[name])
    places = {name: seq for name, (_, seq) in named.items()}
    return ReplaySchedule(tuple(ordered), places, tuple(rounds), superseded, compositions)


def _find_compositions(events: Iterable[RecordedEvent]) -> tuple[Compositions, set[int]]:
    """Return what candidates were composed with, and the places of the events that say so.

    Of an attempt the last one counts: a killed process may have begun others.
    """
    compositions, places = {}, dict[tuple[TaskId, int], int]()
    for recorded in events:
        match recorded.event:
            case CandidateComposed(task=str(task), number=number, units=units):
                compositions[task, number] = units
                places[task, number] = recorded.seq
    return compositions, set(places.values())


def _is_effective(recorded: RecordedEvent, recording: RecordedRun, effective: set[int]) -> bool:
    """Return False for what a killed process began and did not end, and for tries that were followed by others."""
    event = recorded.event
    if isinstance(event, LandingStarted | CandidateComposed):
        return recorded.seq in effective
    if isinstance(event, ModelReplied):
        return (event.session, event.turn) in recording.calls
    if isinstance(event, ModelFailed):
        call = recording.calls.get((event.session, event.turn))
        return call is not None and call.seq == recorded.seq
    return True


def list_moves(events: Sequence[RecordedEvent]) -> Sequence[BranchMove]:
    """Return the landings, and the restarts that took the branch back, in order."""
    begun: dict[CommitId, int] = {}
    moves: list[BranchMove] = []
    for recorded in events:
        match recorded.event:
            case LandingStarted(new=commit) | RewindStarted(new=commit):
                begun[commit] = recorded.seq
            case LandingFinished(new=commit) | RewindFinished(new=commit) if commit in begun:
                moves.append(BranchMove(begun[commit], recorded.seq, commit))
    return moves


def _find_position(recorded: RecordedEvent, recording: RecordedRun, moves: Sequence[BranchMove]) -> float:
    """Return the event's place in the order. What starts from the branch's tip stands where it looked at it."""
    base: CommitId | None = None
    match recorded.event:
        case AttemptStarted(attempt=attempt) if attempt.start is None:
            base = attempt.base
        case CandidateComposed(tip=tip):
            base = tip
        case PlanningStarted(task=task):
            base = _find_planning_commit(recording.events[recorded.seq :], task)
        case WorkspaceLeasing(purpose_facts=PurposeFacts(kind="planning"), commit=commit):
            base = commit
    tips = [recording.state.run.base, *(move.commit for move in moves)]
    begun = [move.begun for move in moves if move.begun < recorded.seq]
    for number in reversed(range(len(tips))):  # a restart brings a tip back: the last time before the event counts
        if tips[number] == base and number <= len(begun):
            return _place_between_moves(recorded.seq, number, moves)
    return recorded.seq


def _find_planning_commit(events: Iterable[RecordedEvent], task: TaskId | None) -> CommitId | None:
    """Return the commit of the first workspace for a planner of the task; None if there is none."""
    for recorded in events:
        match recorded.event:
            case WorkspaceLeasing(purpose_facts=PurposeFacts(kind="planning", task=planned)) as leasing:
                if planned == task:
                    return leasing.commit
    return None


def _place_between_moves(seq: int, moved: int, moves: Sequence[BranchMove]) -> float:
    """Return a position after the first `moved` moves of the branch, and before the next one."""
    if moved and seq < moves[moved - 1].ended:
        return moves[moved - 1].ended + 0.5
    is_late = moved < len(moves) and moves[moved].begun < seq
    if is_late:
        return moves[moved].begun - 0.5
    return seq


@dataclass(frozen=True)
class RecordedRound:
    """A round of the queue in a recording: these units land together, or the last one of them is ejected.

    It begins just before that is recorded, at `first_seq`: nothing in between can depend on it. `result_seq` is the
    place of the event that ends it. Trials are not repeated as they were: some told nothing of what landed.
    """

    first_seq: int
    result_seq: int
    units: tuple[UnitId, ...]


def list_rounds(events: Iterable[RecordedEvent], moves: Sequence[BranchMove]) -> Sequence[RecordedRound]:
    """Return the landings and ejections, in order, each as a round of its own."""
    begun = {move.ended: move.begun for move in moves}
    found: list[RecordedRound] = []
    for recorded in events:
        match recorded.event:
            case UnitEjected() as ejected:
                units = (*ejected.partners, ejected.unit)
                found.append(RecordedRound(recorded.seq, recorded.seq, units))
            case LandingFinished() as landing if landing.units:
                found.append(RecordedRound(begun.get(recorded.seq, recorded.seq), recorded.seq, landing.units))
    return found
