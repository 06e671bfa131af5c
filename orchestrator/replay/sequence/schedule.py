"""From a recording to the order that a replay keeps to."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.event.landing import (
    LandingFinished,
    LandingStarted,
    RewindFinished,
    RewindStarted,
    TrialJudged,
    UnitEjected,
)
from orchestrator.domain.event.run import CheckStarted
from orchestrator.domain.event.work import AttemptStarted, ModelFailed, PlanningStarted, WorkspaceLeasing
from orchestrator.domain.ids import CommitId, PurposeFacts, TaskId, UnitId
from orchestrator.replay.recording import RecordedRun
from orchestrator.replay.sequence.milestone_order import MilestoneOrder
from orchestrator.replay.sequence.milestones import MilestoneNamer


@dataclass(frozen=True)
class QueueRound:
    """A round of the queue: the milestone that is its beginning, and its units in landing order."""

    name: str
    units: tuple[UnitId, ...]


@dataclass(frozen=True)
class ReplaySchedule:
    """The schedule that a replay follows. `seq_by_name` tells which event each milestone was."""

    names: tuple[str, ...]
    seq_by_name: Mapping[str, int]
    rounds: tuple[QueueRound, ...]
    superseded: Mapping[str, frozenset[str]]

    def build_order(self) -> MilestoneOrder:
        """Return a new order, of which nothing has happened yet."""
        return MilestoneOrder(self.names, self.superseded)


@dataclass(frozen=True)
class _BranchMove:
    begun: int
    ended: int
    commit: CommitId


def build_schedule(recording: RecordedRun) -> ReplaySchedule:
    """Return the order of what matters in a recording."""
    moves = list(_iterate_moves(recording.events))
    effective = {move.begun for move in moves}
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
    for number, one in enumerate(list_rounds(recording.events), start=1):
        name = f"round {number} of the queue"
        named[name] = (one.first_seq - 0.25, one.first_seq)
        rounds.append(QueueRound(name, tuple(one.units)))
        superseded[name] = frozenset(by_seq[seq] for seq in one.result_seqs if seq in by_seq)
    ordered = sorted(named, key=lambda name: named[name])
    return ReplaySchedule(tuple(ordered), {name: seq for name, (_, seq) in named.items()}, tuple(rounds), superseded)


def _is_effective(recorded: RecordedEvent, recording: RecordedRun, effective: set[int]) -> bool:
    """Return False for what a killed process began and did not end, and for tries that were followed by others."""
    event = recorded.event
    if isinstance(event, LandingStarted):
        return recorded.seq in effective
    if isinstance(event, ModelFailed):
        call = recording.calls.get((event.session, event.turn))
        return call is not None and call.seq == recorded.seq
    return True


def _iterate_moves(events: Sequence[RecordedEvent]) -> Iterator[_BranchMove]:
    """Yield the landings, and the restarts that took the branch back, in order."""
    begun: dict[CommitId, int] = {}
    for recorded in events:
        match recorded.event:
            case LandingStarted(new=commit) | RewindStarted(new=commit):
                begun[commit] = recorded.seq
            case LandingFinished(new=commit) | RewindFinished(new=commit) if commit in begun:
                yield _BranchMove(begun[commit], recorded.seq, commit)


def _find_position(recorded: RecordedEvent, recording: RecordedRun, moves: Sequence[_BranchMove]) -> float:
    """Return the event's place in the order. What starts from the branch's tip stands where it looked at it."""
    base: CommitId | None = None
    match recorded.event:
        case AttemptStarted(attempt=attempt) if attempt.start is None:
            base = attempt.base
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


def _place_between_moves(seq: int, moved: int, moves: Sequence[_BranchMove]) -> float:
    """Return a position after the first `moved` moves of the branch, and before the next one."""
    if moved and seq < moves[moved - 1].ended:
        return moves[moved - 1].ended + 0.5
    is_late = moved < len(moves) and moves[moved].begun < seq
    if is_late:
        return moves[moved].begun - 0.5
    return seq


@dataclass
class RecordedRound:
    """One round: `begun` and `ended` are events' places; `results` are the places of its landing and ejections."""

    name: str
    first_seq: int
    last_seq: int
    units: list[UnitId] = field(default_factory=list)
    has_trials: bool = False
    result_seqs: list[int] = field(default_factory=list)

    def add_event(self, recorded: RecordedEvent) -> None:
        """Count an event in."""
        match recorded.event:
            case TrialJudged() as trial:
                self.has_trials = True
                self.units += [unit for unit in trial.units if unit not in self.units]
            case UnitEjected() as ejected:
                self.units += [ejected.unit] if ejected.unit not in self.units else []
                self.result_seqs.append(recorded.seq)
            case LandingFinished():
                self.result_seqs.append(recorded.seq)
        self.last_seq = recorded.seq

    def is_continued_by(self, recorded: RecordedEvent) -> bool:
        """Return True if the event belongs to this round.

        Only a round with trials has a name of its own; the ejections of one without are recorded at one blow.
        """
        match recorded.event:
            case LandingFinished():
                return True
            case TrialJudged() as trial:
                return trial.round == self.name and not self.result_seqs
            case UnitEjected() as ejected:
                return ejected.round == self.name and (self.has_trials or recorded.seq == self.last_seq + 1)
        return False


def list_rounds(events: Iterable[RecordedEvent]) -> Sequence[RecordedRound]:
    """Return the rounds that landed or ejected something, in order; one that a killed process began is in the next."""
    found: list[RecordedRound] = []
    checks: dict[str, int] = {}
    for recorded in events:
        match recorded.event:
            case CheckStarted(purpose_facts=PurposeFacts(kind="queue", detail="") as facts):
                checks[facts.round] = recorded.seq
            case TrialJudged(round=name) | UnitEjected(round=name):
                if not found or not found[-1].is_continued_by(recorded):
                    begun = checks.pop(name, recorded.seq)
                    found.append(RecordedRound(name, max(begun, found[-1].last_seq + 1 if found else 0), recorded.seq))
                found[-1].add_event(recorded)
            case LandingFinished() if found:
                found[-1].add_event(recorded)
    return [one for one in found if one.result_seqs]
