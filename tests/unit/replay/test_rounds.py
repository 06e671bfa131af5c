"""Rounds of the queue, found again in a journal, also where a process was killed in the middle of one."""

from collections.abc import Sequence
from datetime import UTC, datetime

from orchestrator.domain.event import Event, RecordedEvent
from orchestrator.domain.event.landing import LandingFinished, TrialJudged, UnitEjected
from orchestrator.domain.event.run import CheckStarted, Noticed
from orchestrator.domain.ids import CommitId, TreeId, UnitId
from orchestrator.domain.judging.check import Difference
from orchestrator.replay.sequence.schedule import list_rounds

TREE, COMMIT = TreeId("t" * 40), CommitId("c" * 40)


def recorded(*events: Event) -> list[RecordedEvent]:
    return [RecordedEvent(seq, datetime.now(UTC), event) for seq, event in enumerate(events, start=1)]


def check(number: int) -> Event:
    return CheckStarted(key=f"check~{number}", check="gate", tree=TREE, purpose=f"queue round {number}")


def trial(number: int, *units: str) -> Event:
    names = tuple(map(UnitId, units))
    return TrialJudged(round=f"round {number}", units=names, tree=TREE, difference=Difference(), cached=False)


def landed(*units: str) -> Event:
    return LandingFinished(key="k", branch="b", new=COMMIT, tree=TREE, units=tuple(map(UnitId, units)))


def ejected(number: int, unit: str) -> Event:
    return UnitEjected(round=f"round {number}", unit=UnitId(unit), conflict=("x",))


def told(*events: Event) -> Sequence[tuple[int, list[str]]]:
    return [(one.first_seq, list(one.units)) for one in list_rounds(recorded(*events))]


def test_a_round_begins_with_its_first_check_and_ends_with_what_it_ejects() -> None:
    events = (check(1), trial(1, "a", "b"), trial(1, "a"), landed("a"), ejected(1, "b"), check(4), trial(4, "b"))
    assert told(*events, landed("b")) == [(1, ["a", "b"]), (6, ["b"])]


def test_a_round_that_a_killed_process_began_counts_with_the_next() -> None:
    assert told(check(1), trial(1, "a"), check(2), trial(2, "a", "b"), landed("a", "b")) == [(3, ["a", "b"])]


def test_rounds_without_a_trial_are_told_apart_though_they_have_one_name() -> None:
    between = Noticed(level="info", text="x")
    assert told(ejected(1, "a"), ejected(1, "b"), between, ejected(1, "c")) == [(1, ["a", "b"]), (4, ["c"])]


def test_a_unit_that_clashed_belongs_to_the_round_of_the_others() -> None:
    assert told(trial(1, "a"), landed("a"), ejected(1, "b")) == [(1, ["a", "b"])]
