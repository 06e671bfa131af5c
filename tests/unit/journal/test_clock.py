"""A wall clock that somebody sets while a run goes on, or between two engines: no duration or wait holds the jump."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.event.people import ApprovalRequested
from orchestrator.domain.event.run import ClockJumped, EngineStarted, Noticed
from orchestrator.domain.fold.projection import fold_events
from orchestrator.domain.run.approval import Approval
from orchestrator.engine.control.command_consumer import CommandConsumer
from orchestrator.journal.inbox import Inbox
from orchestrator.journal.journal import Journal
from orchestrator.journal.storage.event_store import read_all_events

DAY = timedelta(days=1)
JUMPS = pytest.mark.parametrize("jump", [DAY, -DAY, 400 * DAY])


class SetClock:
    """A clock of which only the wall can be set: ten seconds pass between two events."""

    def __init__(self) -> None:
        self.steady_s = 1_000.0
        self.wall = datetime(2026, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        return self.wall

    def read_monotonic_s(self) -> float:
        return self.steady_s

    def pass_time(self, seconds: float) -> None:
        self.steady_s += seconds
        self.wall += timedelta(seconds=seconds)


@contextmanager
def working(place: Path, clock: SetClock) -> Iterator[Journal]:
    journal = Journal(place, clock)
    try:
        yield journal
    finally:
        journal.close()


def engine(journal: Journal) -> EngineStarted:
    return EngineStarted(epoch=journal.epoch, pid=1, host="h", version="0")


def something() -> Noticed:
    return Noticed(level="info", text="something")


def asked(clock: SetClock) -> ApprovalRequested:
    """A question that counts as denied in an hour."""
    one = Approval(item="tier/a", matter="tier", subject="a", title="?", expires_at=clock.now() + timedelta(hours=1))
    return ApprovalRequested(approval=one)


@JUMPS
async def test_work_is_counted_without_the_jump_from_the_first_event_after_it_on(
    tmp_path: Path, jump: timedelta
) -> None:
    clock, seen = SetClock(), list[float]()
    with working(tmp_path, clock) as journal:
        await journal.append(engine(journal))
        for number in range(6):
            clock.pass_time(10)
            clock.wall += jump if number == 2 else timedelta()
            await journal.append(something())
            seen.append(round(journal.state.wall_s))
    assert seen == [10, 20, 30, 40, 50, 60]
    jumps = [one.event.by_s for one in read_all_events(tmp_path / "journal.db") if isinstance(one.event, ClockJumped)]
    assert jumps == [jump.total_seconds()]


@JUMPS
async def test_a_jump_between_two_engines_takes_nothing_from_what_was_worked(tmp_path: Path, jump: timedelta) -> None:
    clock = SetClock()
    for number in range(3):
        with working(tmp_path, clock) as journal:
            await journal.append(engine(journal))
            clock.pass_time(10)
            await journal.append(something())
            assert round(journal.state.wall_s) == 10 * (number + 1)
        clock.wall += jump


def test_a_journal_in_which_no_jump_was_noticed_counts_less_work_and_never_less_than_none() -> None:
    begun = datetime(2026, 1, 1, tzinfo=UTC)
    times = [begun, begun + timedelta(seconds=10), begun - DAY]
    events = [EngineStarted(epoch=1, pid=1, host="h", version="0"), something(), something()]
    state = fold_events(
        RecordedEvent(number + 1, at, event) for number, (at, event) in enumerate(zip(times, events, strict=True))
    )
    assert state.wall_s == 0
    later = RecordedEvent(4, begun - DAY, EngineStarted(epoch=2, pid=1, host="h", version="0"))
    assert fold_events([later], state).wall_s == 0


@JUMPS
async def test_a_question_waits_as_long_as_it_was_to_wait(tmp_path: Path, jump: timedelta) -> None:
    clock = SetClock()
    with working(tmp_path, clock) as journal:
        desk = CommandConsumer(journal, Inbox(tmp_path / "inbox"))
        await journal.append(engine(journal), asked(clock))
        clock.pass_time(3_000)
        clock.wall += jump
        await desk.take_pending_commands()
        assert len(journal.state.pending_approvals) == 1
        clock.pass_time(601)
        await desk.take_pending_commands()
        assert journal.state.pending_approvals == []
        assert journal.state.approvals["tier/a"].by == "expiry"


async def test_a_question_does_not_wait_longer_for_a_clock_set_back_between_two_engines(tmp_path: Path) -> None:
    clock = SetClock()
    with working(tmp_path, clock) as journal:
        await journal.append(engine(journal), asked(clock))
    clock.wall -= DAY
    with working(tmp_path, clock) as journal:
        await journal.append(engine(journal))
        clock.pass_time(3_601)
        await CommandConsumer(journal, Inbox(tmp_path / "inbox")).take_pending_commands()
        assert journal.state.pending_approvals == []
