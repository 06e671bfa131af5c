"""Damaged journals: wherever bytes are lost or changed, no wrong event is returned, and repair keeps what it can."""

import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.event.landing import RefSetting
from orchestrator.domain.event.run import EffectAbandoned, Noticed
from orchestrator.domain.event.work import SessionStarted, TurnEnded
from orchestrator.domain.ids import SessionId
from orchestrator.domain.text.blob_text import Text
from orchestrator.errors import BlobLost, OrchestrateError
from orchestrator.journal.damage.repair import repair_journal
from orchestrator.journal.journal import Journal, SystemClock
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.journal.storage.blobs import BlobStore
from orchestrator.journal.storage.event_store import EventStore, read_all_events
from orchestrator.journal.storage.problems import DamagedJournal
from orchestrator.journal.storage.projection import read_projection

AT = datetime(2026, 1, 1, tzinfo=UTC)
SESSION = SessionId("s/1")
HARMS = pytest.mark.parametrize("harm", ["flip", "cut", "zero"])
FILES = pytest.mark.parametrize("name", ["journal.db", "journal.db-wal"])


def story() -> list[RecordedEvent]:
    """Events short and long, of a session and of none, with keys and without."""
    events = []
    for number in range(1, 241):
        match number % 4:
            case 0:
                text = Text.build_inline("said")
                event = SessionStarted(session=SESSION, role="worker", model="m", prompt="p", system=text, brief=text)
                event = event if number == 4 else TurnEnded(session=SESSION, turn=number, tree=None)
            case 1:
                event = Noticed(level="info", text=f"short {number}")
            case 2:
                long = f"long {number} " * random.Random(number).randrange(1, 900)
                event = RefSetting(key=f"effect/{number}~0", ref="r", object=long)
            case _:
                event = EffectAbandoned(key=f"effect/{number - 1}~0", reason="none")
        events.append(RecordedEvent(number, AT, event))
    return events


STORY = story()


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run directory whose process died: half of the journal still in the WAL."""
    place = tmp_path_factory.mktemp("sound") / "run"
    place.mkdir()
    live = tmp_path_factory.mktemp("live")
    store = EventStore.open_writer(live / "journal.db")
    store.claim_writer()
    for start in range(0, 240, 4):
        store.insert_events(STORY[start : start + 4])
        if start == 120:
            store._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for file in live.iterdir():
        if not file.name.endswith("-shm"):
            shutil.copy(file, place)
    store.close()
    return place


def copied(sound: Path, place: Path) -> Path:
    shutil.rmtree(place, ignore_errors=True)
    return Path(shutil.copytree(sound, place))


def readable(path: Path) -> tuple[list[RecordedEvent], OrchestrateError | None]:
    got: list[RecordedEvent] = []
    try:
        got.extend(read_all_events(path))
    except OrchestrateError as problem:
        return got, problem
    return got, None


def flip(path: Path, chance: random.Random) -> None:
    content = bytearray(path.read_bytes())
    for _ in range(chance.choice((1, 1, 1, 3, 40))):
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    path.write_bytes(content)


def cut(path: Path, chance: random.Random) -> None:
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.truncate(chance.choice((chance.randrange(size), size - chance.randrange(1, 5000), 0)))


def zero(path: Path, chance: random.Random) -> None:
    start = chance.randrange(path.stat().st_size)
    with path.open("r+b") as file:
        file.seek(start)
        file.write(bytes(min(chance.choice((16, 512, 4096, 20_000)), path.stat().st_size - start)))


WAYS: dict[str, Callable[[Path, random.Random], None]] = {"flip": flip, "cut": cut, "zero": zero}


@HARMS
@FILES
@pytest.mark.parametrize("seeds", [range(40), pytest.param(range(40, 500), marks=pytest.mark.extended)])
def test_wherever_a_file_is_harmed_only_true_events_are_returned_and_what_is_missing_is_told(
    sound: Path, tmp_path: Path, name: str, harm: str, seeds: range
) -> None:
    told = 0
    for seed in seeds:
        place = copied(sound, tmp_path / "run")
        WAYS[harm](place / name, random.Random(seed))
        got, problem = readable(place / "journal.db")
        assert got == STORY[: len(got)], seed
        assert problem is not None or len(got) == len(STORY), seed
        if problem is not None:
            told += 1
            assert problem.exit_code == 7, seed
            assert "orchestrate repair" in str(problem), (seed, str(problem))
    assert told > len(seeds) // 10


@HARMS
@FILES
@pytest.mark.parametrize("seeds", [range(8), pytest.param(range(8, 120), marks=pytest.mark.extended)])
def test_repair_keeps_at_least_what_could_be_read_and_loses_nothing_it_does_not_tell_of(
    sound: Path, tmp_path: Path, name: str, harm: str, seeds: range
) -> None:
    for seed in seeds:
        place = copied(sound, tmp_path / "run")
        WAYS[harm](place / name, random.Random(seed))
        damaged = (place / "journal.db").read_bytes()
        got, problem = readable(place / "journal.db")
        result = repair_journal(RunDirectory(place))
        after, none = readable(place / "journal.db")
        assert none is None, seed
        if result is None:
            assert after == STORY, seed
            continue
        assert len(got) <= result.kept, seed
        assert after[: result.kept] == STORY[: result.kept], seed
        assert len(after) == result.kept + bool(result.kept), seed
        told = {seq for first, last in (*result.lost, *result.set_aside) for seq in range(first, last + 1)}
        assert told == set(range(result.kept + 1, 241)), seed
        assert (Path(result.aside) / "journal.db").read_bytes() == damaged or problem is None, seed
        assert repair_journal(RunDirectory(place)) is None, seed


def test_a_conversation_is_not_returned_with_a_hole(sound: Path, tmp_path: Path) -> None:
    path = copied(sound, tmp_path / "run") / "journal.db"
    store = EventStore.open_writer(path)
    whole = store.read_session(SESSION)
    store.close()
    assert [recorded.seq for recorded in whole] == list(range(4, 241, 4))
    raw = sqlite3.connect(path)
    raw.execute("PRAGMA writable_schema = ON")  # an index that lost its entries, as damage to its pages leaves it
    raw.execute(
        "UPDATE sqlite_master SET sql = replace(sql, 'NOT NULL', 'NOT NULL AND seq <> 60') "
        "WHERE name = 'event_of_session'"
    )
    raw.commit()
    raw.close()
    raw = sqlite3.connect(path)
    raw.execute("REINDEX event_of_session")
    raw.execute("PRAGMA writable_schema = ON")
    raw.execute("UPDATE sqlite_master SET sql = replace(sql, ' AND seq <> 60', '') WHERE name = 'event_of_session'")
    raw.commit()
    raw.close()
    reader = EventStore.open_reader(path)
    with pytest.raises(DamagedJournal, match="events of session s/1 are missing"):
        reader.read_session(SESSION)
    reader.close()
    result = repair_journal(RunDirectory(path.parent))
    assert result is not None
    assert (result.kept, result.lost) == (240, ())
    reader = EventStore.open_reader(path)
    assert reader.read_session(SESSION) == whole
    reader.close()


def test_a_row_with_an_absurd_number_does_not_confuse_a_repair(sound: Path, tmp_path: Path) -> None:
    path = copied(sound, tmp_path / "run") / "journal.db"
    raw = sqlite3.connect(path)
    raw.execute("DROP TRIGGER event_is_never_deleted")
    raw.execute("DELETE FROM event WHERE seq = 100")
    values = (2**60, "2026-01-01T00:00:00+00:00", "run.noticed", 1, '{"level":"info","text":"absurd"}')
    raw.execute("INSERT INTO event(seq, at, kind, v, body) VALUES(?, ?, ?, ?, ?)", values)
    raw.commit()
    raw.close()
    result = repair_journal(RunDirectory(path.parent))
    assert result is not None
    assert result.lost in {((100, 100),), ()}  # what is deleted may still be read
    assert result.kept in {99, 240}


def test_what_is_left_of_a_damaged_wal_is_not_thrown_away_by_a_writer(sound: Path, tmp_path: Path) -> None:
    place = copied(sound, tmp_path / "run")
    content = bytearray((place / "journal.db-wal").read_bytes())
    content[32 + 24 + 100] ^= 1
    (place / "journal.db-wal").write_bytes(content)
    with pytest.raises(DamagedJournal, match="which were recorded, are missing"):
        EventStore.open_writer(place / "journal.db")
    assert (place / "journal.db-wal").read_bytes() == content
    result = repair_journal(RunDirectory(place))
    assert result is not None
    assert result.kept == 240


def test_a_projection_that_was_changed_is_not_shown(tmp_path: Path) -> None:
    store = EventStore.open_writer(tmp_path / "journal.db")
    store.claim_writer()
    store.insert_events(STORY[:1], {"status": "{}"})
    store.close()
    assert read_projection(tmp_path / "journal.db", "status") is not None
    raw = sqlite3.connect(tmp_path / "journal.db")
    raw.execute("UPDATE projection SET body = '{ '")
    raw.commit()
    raw.close()
    assert read_projection(tmp_path / "journal.db", "status") is None


async def test_a_text_whose_blob_was_given_up_is_read_as_its_beginning_and_says_so(tmp_path: Path) -> None:
    journal = Journal(tmp_path, SystemClock())
    text = await journal.store_text("word " * 2_000)
    await journal.append(SessionStarted(session=SESSION, role="worker", model="m", prompt="p", system=text, brief=text))
    journal.close()
    assert text.sha is not None
    BlobStore(tmp_path / "blobs").get_blob_path(text.sha).write_bytes(b"damaged")
    result = repair_journal(RunDirectory(tmp_path))
    assert result is not None
    assert (result.is_rewritten, result.blobs) == (False, {text.sha: (1,)})
    assert (Path(result.aside) / "blobs" / text.sha).read_bytes() == b"damaged"
    again = Journal(tmp_path, SystemClock())
    read = await again.read_text(text)
    assert read.startswith("word word")
    assert read.endswith("[... the rest of 10,000 characters was lost when the journal was damaged]")
    with pytest.raises(BlobLost):
        await again.read_bytes(text.sha)
    again.close()


FULL = """
import sys, anyio
from pathlib import Path
from orchestrator.domain.event.run import Noticed
from orchestrator.errors import JournalProblem
from orchestrator.journal.journal import Journal, SystemClock
from orchestrator.journal.storage.event_store import read_all_events

async def main(place):
    journal = Journal(place, SystemClock())
    acknowledged = 0
    try:
        while True:
            text = await journal.store_text(str(acknowledged) * 9_000) if sys.argv[2] == "blob" else None
            await journal.append(Noticed(level="info", text="x" * 5_000))
            acknowledged += 1
    except JournalProblem as problem:
        print("free some disk space" in str(problem), acknowledged > 10)
    for blob in (place / "blobs").rglob("?" * 64):
        blob.unlink()
    (place / "ballast").unlink()
    journal.close()
    again = Journal(place, SystemClock())
    await again.append(Noticed(level="info", text="goes on"))
    again.close()
    print(len(list(read_all_events(place / "journal.db"))) - acknowledged)

place = Path(sys.argv[1])
(place / "ballast").write_bytes(bytes(1_000_000))
anyio.run(main, place)
"""


@pytest.mark.sandbox
@pytest.mark.parametrize("what", ["journal", "blob"])
def test_a_disk_that_fills_up_is_told_and_the_journal_goes_on_when_there_is_room(tmp_path: Path, what: str) -> None:
    place = str(tmp_path)
    small = ["bwrap", "--dev-bind", "/", "/", "--size", "4000000", "--tmpfs", place]
    done = subprocess.run(
        [*small, sys.executable, "-c", FULL, place, what], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("True True\n1\n", "")
