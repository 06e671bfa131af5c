"""The rounds of the queue as a journal tells them: which units each one tried, and what came of it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.event.landing import LandingFinished, TrialJudged, UnitEjected
from orchestrator.domain.event.run import CheckStarted
from orchestrator.domain.ids import UnitId
from orchestrator.domain.run.purpose import PurposeFacts


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
