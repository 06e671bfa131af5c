"""What a dashboard knows of a run, read from journals that grow, are damaged, repaired, replaced and gone."""

import os
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import timedelta
from itertools import islice
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.event.run import RunEnded
from orchestrator.domain.run.state import RunState
from orchestrator.journal.damage.repair import repair_journal
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.journal.state import snapshot
from orchestrator.journal.state.derivation import read_state
from orchestrator.journal.storage.event_reader import EventReader
from orchestrator.tui.run_feed.feed import PlaybackClock, RunFeed
from orchestrator.tui.view_model import Connection, ViewModel
from tests.running.journals import LONGEST, START, STEP, Fleet, fleet_journal, write


@contextmanager
def feeding(directory: RunDirectory, replay: PlaybackClock | None = None) -> Iterator[RunFeed]:
    feed = RunFeed(directory, replay=replay)
    feed.start()
    try:
        yield feed
    finally:
        feed.close()


def shown(feed: RunFeed, seq: int) -> ViewModel:
    """The moment at which the feed knows of an event."""
    until = time.monotonic() + 120
    while time.monotonic() < until:
        feed.fold_waiting_events()
        moment = feed.get_view_model()
        if moment is not None and moment.seq == seq:
            return moment
        time.sleep(0.01)
    raise AssertionError(f"event {seq} is not known: {feed.problem or (moment and moment.seq)}")


def told(feed: RunFeed, words: str) -> str:
    """The problem, once it is this one; empty words wait for none."""
    until = time.monotonic() + 120
    while time.monotonic() < until:
        feed.fold_waiting_events()
        if words in feed.problem and bool(words) == bool(feed.problem):
            return feed.problem
        time.sleep(0.01)
    raise AssertionError(f"{words!r} is not told, but {feed.problem!r}")


def last_of(directory: RunDirectory) -> int:
    with closing(EventReader.open_reader(directory.journal)) as reader:
        return reader.read_last_seq()


def grow(directory: RunDirectory, events: int, turn: int = 100) -> None:
    fleet = Fleet(directory.path, 5, first_turn=turn)
    write(directory.path, islice(fleet.works(), events))


@pytest.fixture
def directory(tmp_path: Path) -> RunDirectory:
    return fleet_journal(tmp_path / "run", workers=5, lines=2_000, turns=2)


def test_nothing_of_a_journal_is_lost_as_it_is_read_and_as_it_grows(directory: RunDirectory) -> None:
    with feeding(directory) as feed:
        assert feed.get_view_model() is None
        shown(feed, last_of(directory))
        grow(directory, 4_000)
        moment = shown(feed, last_of(directory))
        assert moment.state == read_state(directory.journal)
        assert [one.seq for one in moment.recent] == list(range(moment.seq - 2_999, moment.seq + 1))
        assert len(moment.state.pending_approvals) == 2


def test_each_conversation_has_its_last_words_as_one_harmless_line(directory: RunDirectory) -> None:
    with feeding(directory) as feed:
        moment = shown(feed, last_of(directory))
        seen = moment.last_session_events[LONGEST]
        assert set(moment.last_session_events) == set(moment.state.sessions)
        assert (seen.words, seen.turn) == ("shell ok: 3 passed in 0.2s", 3)
        assert START < seen.at <= moment.now


def test_a_snapshot_is_gone_on_from_with_what_was_heard_before_it(directory: RunDirectory) -> None:
    grow(directory, 8_000)
    quiet = Fleet(directory.path, 1, first_turn=5_000)
    state = read_state(directory.journal)
    with closing(EventReader.open_reader(directory.journal)) as reader:
        snapshot.save_snapshot(directory.path, state, reader.read_event_mark(state.seq))
    write(directory.path, islice(quiet.works(), 10))
    with feeding(directory) as feed:
        moment = shown(feed, last_of(directory))
        assert moment.state == read_state(directory.journal)
        assert set(moment.last_session_events) == set(moment.state.sessions)
        assert len(moment.recent) == 3_000


@pytest.mark.damaged_journal
def test_damage_is_told_and_after_a_repair_the_feed_goes_on(directory: RunDirectory) -> None:
    last = last_of(directory)
    grow(directory, 20)
    spoil(directory, last + 11)
    with feeding(directory) as feed:
        told(feed, f"event {last + 11} is not what was written")
        assert shown(feed, last + 10).problem == feed.problem
        with directory.hold_lock():
            assert repair_journal(directory)
        told(feed, "")
        assert shown(feed, last_of(directory)).state == read_state(directory.journal)


def test_a_journal_that_goes_and_comes_back_as_another_is_begun_anew(directory: RunDirectory, tmp_path: Path) -> None:
    other = fleet_journal(tmp_path / "other", workers=3, lines=0, turns=1)
    with feeding(directory) as feed:
        state = shown(feed, last_of(directory)).state
        shutil.rmtree(directory.path)
        told(feed, "there is no journal at")
        moment = feed.get_view_model()
        assert moment is not None
        assert moment.state == state
        shutil.copytree(other.path, directory.path)
        told(feed, "")
        assert len(shown(feed, last_of(other)).state.sessions) == 3


def test_who_works_on_a_run_is_told_by_its_lock(directory: RunDirectory) -> None:
    with feeding(directory) as feed:
        shown(feed, last_of(directory))
        until(feed, Connection.IDLE)
        with directory.hold_lock():
            assert until(feed, Connection.LIVE).stale_s == 0
            os.utime(directory.path / "lock", (time.time() - 20, time.time() - 20))
            assert 20 <= until(feed, Connection.STALE).stale_s < 60
        write(directory.path, [RunEnded(outcome="done", reason="all landed", exit=0, head=None)])
        until(feed, Connection.ENDED)


def test_a_lock_that_holds_what_no_process_wrote_is_one_all_the_same(directory: RunDirectory) -> None:
    with feeding(directory) as feed, directory.hold_lock():
        (directory.path / "lock").write_bytes(b"\xff\nlease soon\n")
        shown(feed, last_of(directory))
        assert until(feed, Connection.LIVE).connection is Connection.LIVE


def test_a_recording_is_played_by_its_own_times_held_hurried_and_ended(directory: RunDirectory) -> None:
    wall = 0.0
    replay = PlaybackClock(4, clock=lambda: wall)
    last = last_of(directory)
    with feeding(directory, replay) as feed:
        assert shown(feed, 1).connection is Connection.REPLAY
        wall = 1.0
        moment = shown(feed, 41)
        assert (moment.now, moment.is_read_only) == (START + STEP + timedelta(seconds=4), True)
        replay.is_paused = True
        wall = 50.0
        feed.fold_waiting_events()
        assert shown(feed, 41).now == moment.now
        replay.is_paused = False
        replay.speed = 1
        wall = 51.0
        shown(feed, 51)
        wall = 52.0
        shown(feed, 61)
        replay.jump_to_end()
        moment = shown(feed, last)
        assert moment.state == read_state(directory.journal)
        wall = 1_000.0
        assert shown(feed, last).now == START + last * STEP


@given(st.lists(st.tuples(st.floats(0, 1e6), st.floats(0, 50)), max_size=30), st.floats(0.1, 1_000))
def test_a_recording_never_keeps_anybody_waiting_and_gives_nothing_before_its_time(
    steps: list[tuple[float, float]], speed: float
) -> None:
    wall = 0.0
    replay = PlaybackClock(speed, longest_wait_s=3, clock=lambda: wall)
    at = START
    for gap_s, waited_s in [(0.0, 0.0), *steps]:
        at += timedelta(seconds=gap_s)
        wall += waited_s
        if not replay.is_due(at):
            assert replay.now is not None
            assert replay.now < at
            wall += 3.001
            assert replay.is_due(at)
        assert replay.now is not None
        assert replay.now >= at - timedelta(milliseconds=1)


@pytest.mark.damaged_journal
def test_a_recording_of_a_damaged_journal_is_over_where_the_damage_begins(directory: RunDirectory) -> None:
    spoil(directory, 50)
    replay = PlaybackClock(10_000)
    with feeding(directory, replay) as feed:
        told(feed, "event 50 is not what was written")
        replay.jump_to_end()
        shown(feed, 49)
        assert feed.is_caught_up


@pytest.mark.damaged_journal
def test_an_event_that_cannot_have_happened_is_told_and_what_follows_it_is_left(directory: RunDirectory) -> None:
    last = last_of(directory)
    with feeding(directory) as feed:
        shown(feed, last)
        lost = Fleet(directory.path, 9, first_turn=0)
        write(directory.path, list(islice(lost.works(), 45))[30:])
        told(feed, "cannot have happened after those before it")
        moment = feed.get_view_model()
        assert moment is not None
        assert moment.seq < last + 15


async def test_keeping_up_ends_when_the_feed_is_closed(directory: RunDirectory) -> None:
    with feeding(directory) as feed:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(feed.fold_until_closed)
            with anyio.fail_after(120):
                while not feed.is_caught_up or feed.get_view_model() is None:  # noqa: ASYNC110
                    await anyio.sleep(0.01)
            feed.close()
        moment = feed.get_view_model()
        assert moment is not None
        assert moment.state != RunState()


def until(feed: RunFeed, connection: Connection) -> ViewModel:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        feed.fold_waiting_events()
        moment = feed.get_view_model()
        if moment is not None and moment.connection is connection:
            return moment
        time.sleep(0.01)
    raise AssertionError(f"the connection is never {connection}")


def spoil(directory: RunDirectory, seq: int) -> None:
    with closing(sqlite3.connect(directory.journal)) as connection, suppress(sqlite3.IntegrityError):
        connection.execute("DROP TRIGGER event_is_never_changed")
        connection.execute("UPDATE event SET body = replace(body, 'session', 'Session') WHERE seq = ?", (seq,))
        connection.commit()


def test_a_recording_can_be_hurried_or_slowed_as_often_as_one_likes() -> None:
    wall = 0.0
    replay = PlaybackClock(1, clock=lambda: wall)
    assert replay.is_due(START)
    for factor in (2.0, 0.5):
        for _ in range(2_000):
            replay.speed *= factor
            wall += 0.1
            assert replay.now is not None
            replay.is_due(replay.now + timedelta(days=1))
    assert 0 < replay.speed < 1
