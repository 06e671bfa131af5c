"""Snapshots are a cache: with one or without, the state is the same."""

import json
import sqlite3
from collections.abc import Callable
from functools import cache
from pathlib import Path

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.event.run import Noticed
from orchestrator.domain.fold.projection import fold_events
from orchestrator.errors import JournalProblem, RunTakenOver
from orchestrator.journal.journal import Journal, SystemClock
from orchestrator.journal.maintenance import JournalMaintenance
from orchestrator.journal.state import snapshot
from orchestrator.journal.state.derivation import read_state
from orchestrator.journal.storage.event_reader import EventReader
from orchestrator.journal.storage.event_store import EventStore, read_all_events
from orchestrator.journal.storage.problems import DamagedJournal
from tests.golden import DATA
from tests.running.goal_events import begun, recorded
from tests.running.hosts import two_hosts
from tests.unit.journal.test_golden_journals import restore

GOAL, MIGRATION = "goal.v2", "migration.v1"


@cache
def kept(name: str, place: Path) -> list[RecordedEvent]:
    return list(read_all_events(restore(DATA / "journals" / f"{name}.jsonl", place / f"{name}.db")))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kept")


@pytest.mark.parametrize("name", [GOAL, MIGRATION])
def test_a_snapshot_at_any_point_and_the_rest_fold_to_what_all_events_fold_to(name: str, place: Path) -> None:
    events = kept(name, place)
    whole = fold_events(events)

    @settings(max_examples=40, deadline=None)
    @given(st.integers(0, len(events)))
    def holds(point: int) -> None:
        before = fold_events(events[:point])
        snapshot.save_snapshot(place, snapshot.copy_state(before), b"sum")
        loaded = snapshot.load_snapshot(place)
        assert loaded is not None
        assert loaded == (before, b"sum")
        assert fold_events(events[point:], loaded[0]) == whole

    holds()


def test_a_snapshot_has_the_hosts_of_a_run_and_what_stands_on_them(tmp_path: Path) -> None:
    events = recorded([*begun(), *two_hosts()])
    whole = fold_events(events)
    for point in range(5, len(events) + 1, 7):
        before = fold_events(events[:point])
        snapshot.save_snapshot(tmp_path, snapshot.copy_state(before), b"sum")
        loaded = snapshot.load_snapshot(tmp_path)
        assert loaded == (before, b"sum")
        assert fold_events(events[point:], loaded[0]) == whole


def written(directory: Path, place: Path) -> Path:
    """A journal with a snapshot in its middle."""
    events = kept(GOAL, place)
    store = EventStore.open_writer(directory / "journal.db")
    store.claim_writer()
    store.insert_events(events)
    store.close()
    middle = fold_events(events[: len(events) // 2])
    with_sum = EventReader.open_reader(directory / "journal.db")
    snapshot.save_snapshot(directory, middle, with_sum.find_sum(middle.seq, middle.last_at))
    with_sum.close()
    return directory / snapshot.SNAPSHOT_FILE


def test_a_reader_starts_from_the_snapshot(tmp_path: Path, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path, place)
    begun: list[int] = []
    read = EventReader.read_events

    def watched(self: EventReader, after: int = 0) -> object:
        begun.append(after)
        return read(self, after)

    monkeypatch.setattr(EventReader, "read_events", watched)
    assert read_state(tmp_path / "journal.db") == fold_events(kept(GOAL, place))
    assert begun == [len(kept(GOAL, place)) // 2]


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def changed(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"Add discounts", b"Add something"))


def of_other_code(path: Path) -> None:
    *lines, seal = path.read_bytes().splitlines(keepends=True)
    seq, total, _, digest = json.loads(seal)
    path.write_bytes(b"".join(lines) + json.dumps([seq, total, "0" * 32, digest]).encode())


def of_another_journal(path: Path) -> None:
    loaded = snapshot.load_snapshot(path.parent)
    assert loaded is not None
    snapshot.save_snapshot(path.parent, loaded[0], b"another!")


def alien(path: Path) -> None:
    path.write_bytes(b"\x80\x05garbage\n[]\n")


@pytest.mark.parametrize("harm", [cut, changed, of_other_code, of_another_journal, alien, Path.unlink])
def test_a_snapshot_that_does_not_fit_is_passed_over_silently(
    tmp_path: Path, place: Path, harm: Callable[[Path], None]
) -> None:
    harm(written(tmp_path, place))
    assert read_state(tmp_path / "journal.db") == fold_events(kept(GOAL, place))


def test_events_before_the_snapshot_that_are_gone_do_not_hide_behind_it(tmp_path: Path, place: Path) -> None:
    path = written(tmp_path, place)
    kept_snapshot = path.read_bytes()
    for file in tmp_path.glob("journal.*"):
        file.unlink()
    store = EventStore.open_writer(tmp_path / "journal.db")
    store.claim_writer()
    store.insert_events(kept(GOAL, place)[:3])
    store.close()
    path.write_bytes(kept_snapshot)
    assert read_state(tmp_path / "journal.db").seq == 3


async def test_the_caretaker_keeps_a_snapshot_when_the_engine_leaves(tmp_path: Path, place: Path) -> None:
    journal = Journal(tmp_path, SystemClock())
    caretaker = JournalMaintenance(journal, least_events=10)
    await journal.append(*(recorded.event for recorded in kept(GOAL, place)))
    caretaker.close()
    journal.close()
    loaded = snapshot.load_snapshot(tmp_path)
    assert loaded is not None
    assert loaded[0] == journal.state


async def test_a_state_that_never_became_durable_is_not_kept(tmp_path: Path, place: Path) -> None:
    events = [recorded.event for recorded in kept(GOAL, place)]
    journal = Journal(tmp_path, SystemClock())
    caretaker = JournalMaintenance(journal, least_events=10)
    await journal.append(*events[:4])
    other = Journal(tmp_path, SystemClock())
    with pytest.raises(RunTakenOver):
        await journal.append(*events[4:])
    await other.append(*events[4:])  # at the same places, by another process
    caretaker.close()
    journal.close()
    other.close()
    assert journal.state.seq == other.state.seq
    assert snapshot.load_snapshot(tmp_path) is None


async def test_damage_before_the_snapshot_is_found_while_the_run_goes_on_and_ends_it(
    tmp_path: Path, place: Path
) -> None:
    written(tmp_path, place)
    raw = sqlite3.connect(tmp_path / "journal.db")
    raw.execute("DROP TRIGGER event_is_never_changed")
    raw.execute("UPDATE event SET body = replace(body, '{', '{ ') WHERE seq = 5")
    raw.commit()
    raw.close()
    journal = Journal(tmp_path, SystemClock())
    caretaker = JournalMaintenance(journal)
    with pytest.raises(DamagedJournal, match="event 5 is not what was written"):
        while True:
            await journal.append(Noticed(level="info", text="still going"))
            await anyio.sleep(0.01)
    caretaker.close()
    journal.close()


def test_events_that_cannot_follow_each_other_are_told_as_damage(tmp_path: Path, place: Path) -> None:
    events = kept(GOAL, place)
    store = EventStore.open_writer(tmp_path / "journal.db")
    store.claim_writer()
    ended = next(r for r in events if r.event.kind in {"task.ended", "attempt.ended"})
    store.insert_events([RecordedEvent(1, ended.at, ended.event)])
    store.close()
    with pytest.raises(JournalProblem, match="event 1 cannot have happened"):
        read_state(tmp_path / "journal.db")
