"""The rounds of the queue as a journal tells them: which units each one tried, and what came of it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from orchestrator.domain.event import Recorded
from orchestrator.domain.event.landing import LandingFinished, TrialJudged, UnitEjected
from orchestrator.domain.event.run import CheckStarted
from orchestrator.domain.ids import UnitId


@dataclass
class Round:
    """One round: `begun` and `ended` are events' places; `results` are the places of its landing and ejections."""

    name: str
    begun: int
    ended: int
    units: list[UnitId] = field(default_factory=list)
    has_trials: bool = False
    results: list[int] = field(default_factory=list)

    def take(self, recorded: Recorded) -> None:
        """Count an event in."""
        match recorded.event:
            case TrialJudged() as trial:
                self.has_trials = True
                self.units += [unit for unit in trial.units if unit not in self.units]
            case UnitEjected() as ejected:
                self.units += [ejected.unit] if ejected.unit not in self.units else []
                self.results.append(recorded.seq)
            case LandingFinished():
                self.results.append(recorded.seq)
        self.ended = recorded.seq

    def goes_on_with(self, recorded: Recorded) -> bool:
        """Whether the event belongs to this round.

        Only a round with trials has a name of its own; the ejections of one without are recorded at one blow.
        """
        match recorded.event:
            case LandingFinished():
                return True
            case TrialJudged() as trial:
                return trial.round == self.name and not self.results
            case UnitEjected() as ejected:
                return ejected.round == self.name and (self.has_trials or recorded.seq == self.ended + 1)
        return False


def rounds_of(events: Iterable[Recorded]) -> Sequence[Round]:
    """The rounds that landed or ejected something, in order. One that a killed process began counts with the next."""
    found: list[Round] = []
    checks: dict[str, int] = {}
    for recorded in events:
        match recorded.event:
            case CheckStarted(purpose=purpose):
                checks[purpose] = recorded.seq
            case TrialJudged(round=name) | UnitEjected(round=name):
                if not found or not found[-1].goes_on_with(recorded):
                    begun = checks.pop(f"queue {name}", recorded.seq)
                    found.append(Round(name, max(begun, found[-1].ended + 1 if found else 0), recorded.seq))
                found[-1].take(recorded)
            case LandingFinished() if found:
                found[-1].take(recorded)
    return [one for one in found if one.results]
