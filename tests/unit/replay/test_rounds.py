"""Rounds of the queue, found again in a journal: what landed and what was ejected, each by itself."""

from collections.abc import Sequence
from datetime import UTC, datetime

from orchestrator.domain.event import Event, RecordedEvent
from orchestrator.domain.event.landing import LandingFinished, LandingStarted, TrialJudged, UnitEjected
from orchestrator.domain.ids import CommitId, TreeId, UnitId
from orchestrator.domain.judging.check import Difference
from orchestrator.replay.sequence.schedule import list_moves, list_rounds

TREE, COMMIT = TreeId("t" * 40), CommitId("c" * 40)
PLACE = {"key": "k", "branch": "b", "new": COMMIT, "tree": TREE}


def trial(number: int, *units: str) -> Event:
    names = tuple(map(UnitId, units))
    return TrialJudged(round=f"round {number}", units=names, tree=TREE, difference=Difference(), cached=False)


def starts(*units: str) -> Event:
    return LandingStarted(old=None, units=tuple(map(UnitId, units)), **PLACE)


def landed(*units: str) -> Event:
    return LandingFinished(units=tuple(map(UnitId, units)), **PLACE)


def ejected(number: int, unit: str, *partners: str) -> Event:
    return UnitEjected(round=f"round {number}", unit=UnitId(unit), partners=tuple(map(UnitId, partners)))


def told(*events: Event) -> Sequence[tuple[int, list[str]]]:
    recorded = [RecordedEvent(seq, datetime.now(UTC), event) for seq, event in enumerate(events, start=1)]
    return [(one.first_seq, list(one.units)) for one in list_rounds(recorded, list_moves(recorded))]


def test_a_round_that_lands_begins_just_before_its_landing_and_has_no_other_units() -> None:
    assert told(trial(1, "a", "b"), trial(1, "a"), starts("a"), landed("a")) == [(3, ["a"])]


def test_each_ejection_is_a_round_of_its_own_with_those_that_it_is_red_with() -> None:
    events = (trial(1, "a", "b"), starts("a"), landed("a"), ejected(1, "b"), ejected(1, "d", "c"))
    assert told(*events) == [(2, ["a"]), (4, ["b"]), (5, ["c", "d"])]


def test_a_trial_that_was_kept_for_a_later_round_makes_no_round() -> None:
    events = (trial(1, "a"), starts("a"), landed("a"), trial(2, "a", "b"), starts("b"), landed("b"), trial(3, "c"))
    assert told(*events) == [(2, ["a"]), (5, ["b"])]


def test_a_landing_that_stands_for_others_is_no_round() -> None:
    assert told(starts(), landed()) == []
