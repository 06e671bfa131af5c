"""Compare the votes of lenses with what became of the candidates.

An approval escaped if something showed later that the change was bad. A veto was false if the very tree that it refused
landed after all: whoever only changed a comment before the next try is not seen, so the true rate is no lower.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, get_args

from orchestrator.domain import ids
from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.event import Event, RecordedEvent
from orchestrator.domain.event.landing import LandingFinished, UnitEjected
from orchestrator.domain.event.people import ApprovalDecided
from orchestrator.domain.event.run import IterationJudged, IterationStarted
from orchestrator.domain.event.work import CandidateTaken, LensVoted
from orchestrator.domain.judging.verdict import LensVote
from orchestrator.domain.run.state import RunState

LEAST_BASIS = 10
"""Of fewer approvals or vetoes no rate is told: it would be a guess."""
Escape = Literal["ejected", "other-lens", "denied", "restarted"]
"""What showed that an approved change was bad: the queue's red gate, another lens of the same attempt, a person who did
not let it land, an iteration that was begun afresh after it had landed.
"""
ESCAPES: tuple[Escape, ...] = get_args(Escape)
VETOES = ("revise", "restart", "split", "reject")
TaskPredicate = Callable[[ids.TaskId], bool]
"""Whether the votes on a task are counted."""


@dataclass(frozen=True)
class VoteOutcome:
    """A vote on an attempt of a task, held against what came later: `escapes` of an approval, `was_false` of a veto.

    `is_open` tells of an approval that nothing is known of yet: neither has it landed nor was it shown to be bad.
    """

    vote: LensVote
    spent: Usage
    escapes: frozenset[Escape] = frozenset()
    was_false: bool = False
    is_open: bool = False
    task: ids.TaskId = ids.ROOT_TASK
    number: int = 0


@dataclass
class LensRecord:
    """All votes of one lens on one model."""

    lens: str
    model: str
    decisions: Counter[str] = field(default_factory=Counter)
    escapes: Counter[Escape] = field(default_factory=Counter)
    escaped: int = 0
    false_vetoes: int = 0
    undecided: int = 0
    spent: Usage = field(default_factory=Usage)

    @property
    def votes(self) -> int:
        """All votes, unreadable ones too."""
        return self.decisions.total()

    @property
    def approvals(self) -> int:
        """Votes for landing."""
        return self.decisions["approve"]

    @property
    def vetoes(self) -> int:
        """Votes against landing."""
        return sum(self.decisions[name] for name in VETOES)

    @property
    def escape_rate(self) -> float | None:
        """The part of the approvals that escaped, from 0 to 1; None where there are fewer than `LEAST_BASIS`."""
        if self.approvals >= LEAST_BASIS:
            return self.escaped / self.approvals
        return None

    @property
    def false_veto_rate(self) -> float | None:
        """The part of the vetoes that was false, from 0 to 1; None where there are fewer than `LEAST_BASIS`."""
        if self.vetoes >= LEAST_BASIS:
            return self.false_vetoes / self.vetoes
        return None

    def add_vote(self, held: VoteOutcome) -> None:
        """Count a vote."""
        self.decisions[held.vote.decision] += 1
        self.escapes.update(held.escapes)
        self.escaped += bool(held.escapes)
        self.false_vetoes += held.was_false
        self.undecided += held.is_open
        self.spent += held.spent


class VoteLog:
    """Watches one journal go by for votes and for what became of what was voted on."""

    KINDS: ClassVar = (
        *("lens.voted", "candidate.taken", "unit.ejected", "landing.finished"),
        *("approval.decided", "iteration.started", "iteration.judged"),
    )

    def __init__(self) -> None:
        self._votes: dict[tuple[ids.TaskId, int], dict[str, LensVote]] = {}
        self._trees: dict[ids.UnitId, ids.TreeId] = {}
        self._landed: dict[ids.UnitId, int] = {}
        self._red: set[ids.UnitId] = set()
        self._denied: set[str] = set()
        self._restarted: set[int] = set()
        self._iteration = 0

    def record_events(self, events: Iterable[RecordedEvent]) -> None:
        """Take in events, of which only those of `KINDS` matter."""
        for recorded in events:
            self._see(recorded.event)

    def _see(self, event: Event) -> None:
        match event:
            case LensVoted(task=str(task)):
                self._votes.setdefault((task, event.number), {})[event.vote.lens] = event.vote
            case CandidateTaken(task=str(task)):
                self._trees[ids.build_unit_id(task, event.number)] = event.tree
            case UnitEjected() if not event.conflict:
                self._red.add(event.unit)
            case LandingFinished():
                self._landed.update(dict.fromkeys(event.units, self._iteration))
            case ApprovalDecided(decision="reject") if event.by != "expiry":
                self._denied.add(event.item)
            case IterationStarted():
                self._iteration = event.number
            case IterationJudged() if event.verdict.decision == "restart":
                self._restarted.add(event.number)
            case IterationJudged():
                self._restarted.discard(event.number)  # judged anew after a person had a task tried again

    def iterate_vote_outcomes(self, state: RunState, counts: TaskPredicate) -> Iterator[VoteOutcome]:
        """Yield every vote on tasks that count with its outcome; `state` is what the same events fold to."""
        landed = {(ids.parse_unit_task(unit), tree) for unit, tree in self._trees.items() if unit in self._landed}
        for (task, number), votes in self._votes.items():
            unit = ids.build_unit_id(task, number)
            after_all = (task, self._trees.get(unit)) in landed
            for lens, vote in votes.items() if counts(task) else ():
                session = state.sessions.get(ids.build_review_session_id(task, number, lens))
                if session:
                    spent = session.spent
                else:
                    spent = Usage()
                about = VoteOutcome(vote, spent, task=task, number=number)
                if vote.decision == "approve":
                    escapes = frozenset(self._escapes(state, unit, votes))
                    yield replace(about, escapes=escapes, is_open=not escapes and unit not in self._landed)
                else:
                    yield replace(about, was_false=vote.decision in VETOES and after_all)

    def _escapes(self, state: RunState, unit: ids.UnitId, votes: Mapping[str, LensVote]) -> Iterator[Escape]:
        """Yield the signs that an approved unit was bad."""
        if unit in self._red:
            yield "ejected"
        if any(vote.decision in VETOES for vote in votes.values()):
            yield "other-lens"
        if ids.build_landing_item(unit) in self._denied:
            yield "denied"
        if unit in self._landed and self._was_left_behind(state, unit):
            yield "restarted"

    def _was_left_behind(self, state: RunState, unit: ids.UnitId) -> bool:
        """Return True if a restart left a landed unit behind.

        OLD JOURNALS: nothing left the branch, and the restart blamed all that its iteration had landed.
        """
        iterations = {line.iteration for line in state.goal.left_lines}
        if iterations and unit not in state.landed_units:
            return True
        return self._landed[unit] in self._restarted - iterations


def build_lens_records(held: Iterable[VoteOutcome]) -> list[LensRecord]:
    """Return the votes by lens and model, in the order of their names."""
    found: dict[tuple[str, str], LensRecord] = {}
    for one in held:
        key = (one.vote.lens, one.vote.model)
        found.setdefault(key, LensRecord(*key)).add_vote(one)
    return [found[key] for key in sorted(found)]
