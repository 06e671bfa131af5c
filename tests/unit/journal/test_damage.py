"""Damaged journals: wherever bytes are lost or changed, no wrong event is returned, and repair keeps what it can."""

import random
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from orchestrator.domain.event import Recorded
from orchestrator.domain.event.run import EffectAbandoned, Noticed
from orchestrator.domain.event.work import SessionStarted, TurnEnded
from orchestrator.domain.ids import SessionId
from orchestrator.domain.text import Text
from orchestrator.errors import OrchestrateError
from orchestrator.journal.repair import repair
from orchestrator.journal.runs import RunDirectory
from orchestrator.journal.store import Store, read_all

AT = datetime(2026, 1, 1, tzinfo=UTC)
SESSION = SessionId("s/1")
HARMS = pytest.mark.parametrize("harm", ["flip", "cut", "zero"])
FILES = pytest.mark.parametrize("name", ["journal.db", "journal.db-wal"])


def story() -> list[Recorded]:
    """Events short and long, of a session and of none, with keys and without."""
    events = []
    for number in range(1, 241):
        match number % 4:
            case 0:
                text = Text.inline("said")
                event = SessionStarted(session=SESSION, role="worker", model="m", prompt="p", system=text, brief=text)
                event = event if number == 4 else TurnEnded(session=SESSION, turn=number, tree=None)
            case 1:
                event = Noticed(level="info", text=f"short {number}")
            case 2:
                event = Noticed(level="warning", text=f"long {number} " * random.Random(number).randrange(1, 900))
            case _:
                event = EffectAbandoned(key=f"effect/{number}~0", reason="none")
        events.append(Recorded(number, AT, event))
    return events


STORY = story()


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run directory whose process died: half of the journal still in the WAL."""
    place = tmp_path_factory.mktemp("sound") / "run"
    place.mkdir()
    live = tmp_path_factory.mktemp("live")
    store = Store.open_writer(live / "journal.db")
    store.claim()
    for start in range(0, 240, 4):
        store.insert(STORY[start : start + 4])
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


def readable(path: Path) -> tuple[list[Recorded], OrchestrateError | None]:
    got: list[Recorded] = []
    try:
        got.extend(read_all(path))
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
@pytest.mark.parametrize("seeds", [range(40), pytest.param(range(40, 500), marks=pytest.mark.slow)])
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
@pytest.mark.parametrize("seeds", [range(8), pytest.param(range(8, 120), marks=pytest.mark.slow)])
def test_repair_keeps_at_least_what_could_be_read_and_loses_nothing_it_does_not_tell_of(
    sound: Path, tmp_path: Path, name: str, harm: str, seeds: range
) -> None:
    for seed in seeds:
        place = copied(sound, tmp_path / "run")
        WAYS[harm](place / name, random.Random(seed))
        damaged = (place / "journal.db").read_bytes()
        got, problem = readable(place / "journal.db")
        result = repair(RunDirectory(place))
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
        assert repair(RunDirectory(place)) is None, seed
