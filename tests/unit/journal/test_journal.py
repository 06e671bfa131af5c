"""The journal: durable, append-only, readable from elsewhere, honest about damage."""

import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from orchestrator.domain.commands.definitions import Pause
from orchestrator.domain.event import RecordedEvent, format_event_body
from orchestrator.domain.event.people import CommandTaken
from orchestrator.domain.event.run import Noticed
from orchestrator.domain.event.work import TaskEnded
from orchestrator.domain.fold.projection import fold_events
from orchestrator.domain.ids import TaskId
from orchestrator.domain.run.state import RunState
from orchestrator.domain.run.task import TaskStatus
from orchestrator.domain.transitions import IllegalTransition
from orchestrator.errors import JournalProblem
from orchestrator.journal.damage.repair import repair_journal
from orchestrator.journal.journal import Journal, SystemClock, flush_beside
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.journal.storage.checksums import INITIAL_SUM, chain_sum
from orchestrator.journal.storage.event_store import EventStore, read_all_events
from orchestrator.journal.storage.projection import read_projection


def notice(text: str) -> Noticed:
    return Noticed(level="info", text=text)


def texts(path: Path) -> list[str]:
    return [recorded.event.text for recorded in read_all_events(path) if isinstance(recorded.event, Noticed)]


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    opened = Journal(tmp_path, SystemClock())
    yield opened
    opened.close()


async def test_what_was_appended_is_there_when_the_journal_is_opened_again(tmp_path: Path, journal: Journal) -> None:
    await journal.append(notice("one"), notice("two"))
    again = Journal(tmp_path, SystemClock())
    assert [n.text for n in again.state.notices] == ["one", "two"]
    assert again.state == journal.state
    again.close()


async def test_many_appends_at_once_are_neither_lost_nor_reordered(tmp_path: Path, journal: Journal) -> None:
    async with anyio.create_task_group() as tasks:
        for number in range(200):
            tasks.start_soon(journal.append, notice(str(number)))
    assert texts(tmp_path / "journal.db") == [str(number) for number in range(200)]
    assert [recorded.seq for recorded in read_all_events(tmp_path / "journal.db")] == list(range(1, 201))


async def test_a_staged_event_is_folded_at_once_and_durable_with_the_next_append(
    tmp_path: Path, journal: Journal
) -> None:
    journal.stage_events(notice("one"))
    assert [n.text for n in journal.state.notices] == ["one"]
    assert texts(tmp_path / "journal.db") == []
    await journal.append(notice("two"))
    assert texts(tmp_path / "journal.db") == ["one", "two"]


async def test_what_is_staged_is_durable_soon_where_nothing_is_appended(tmp_path: Path, journal: Journal) -> None:
    async with flush_beside(journal):
        for name in ("one", "two"):
            written = anyio.Event()
            journal.listeners[:] = [lambda _, written=written: written.set()]
            journal.stage_events(notice(name))
            with anyio.fail_after(5):
                await written.wait()
    assert texts(tmp_path / "journal.db") == ["one", "two"]


async def test_replies_that_come_at_once_pass_a_few_with_each_commit_in_their_order(journal: Journal) -> None:
    passed = list[int]()

    async def take_up(number: int) -> None:
        await journal.wait_for_admission()
        passed.append(number)

    async with anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(take_up, number)
        for commits in range(3):
            await anyio.wait_all_tasks_blocked()
            assert passed == list(range(min(20, 8 * (commits + 1))))
            await journal.append(notice(str(commits)))


async def test_a_reply_passes_within_seconds_where_nothing_is_committed(journal: Journal) -> None:
    passed = list[int]()

    async def take_up(number: int) -> None:
        await journal.wait_for_admission()
        passed.append(number)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            for number in range(20):
                tasks.start_soon(take_up, number)
    assert sorted(passed) == list(range(20))


async def test_errors_beside_the_flushing_come_out_as_they_are(journal: Journal) -> None:
    with pytest.raises(KeyError):
        async with flush_beside(journal):
            raise KeyError("mine")


async def test_what_is_staged_last_is_written_when_the_journal_is_closed(tmp_path: Path) -> None:
    journal = Journal(tmp_path, SystemClock())
    journal.stage_events(notice("last"))
    journal.close()
    assert texts(tmp_path / "journal.db") == ["last"]


async def test_more_events_than_one_statement_takes_are_written_in_one_transaction(
    tmp_path: Path, journal: Journal
) -> None:
    await journal.append(*(notice(str(number)) for number in range(250)))
    assert texts(tmp_path / "journal.db") == [str(number) for number in range(250)]


async def test_a_reader_in_the_same_moment_sees_every_committed_event(tmp_path: Path, journal: Journal) -> None:
    await journal.append(notice("before"))
    reader = EventStore.open_reader(tmp_path / "journal.db")
    await journal.append(notice("after"))
    assert [recorded.seq for recorded in reader.read_events(after=1)] == [2]
    reader.close()


async def test_events_can_neither_be_changed_nor_deleted(tmp_path: Path, journal: Journal) -> None:
    await journal.append(notice("fact"))
    other = sqlite3.connect(tmp_path / "journal.db")
    for statement in ("UPDATE event SET body = '{}'", "DELETE FROM event"):
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            other.execute(statement)
    other.close()


async def test_a_long_text_stands_in_a_blob_and_is_read_back_whole(tmp_path: Path, journal: Journal) -> None:
    long = "ü" * 50_000
    kept = await journal.store_text(long)
    assert (kept.size, kept.is_whole, len(list((tmp_path / "blobs").rglob("?*")))) == (50_000, False, 2)
    assert await journal.read_text(kept) == long
    assert await journal.read_text(await journal.store_text("short")) == "short"


async def test_a_damaged_or_missing_blob_is_told(tmp_path: Path, journal: Journal) -> None:
    sha = await journal.store_bytes(b"content")
    path = tmp_path / "blobs" / sha[:2] / sha
    path.write_bytes(b"contenu")
    with pytest.raises(JournalProblem, match="damaged"):
        await journal.read_bytes(sha)
    path.unlink()
    with pytest.raises(JournalProblem, match="is missing; put it back"):
        await journal.read_bytes(sha)


async def test_an_effect_cannot_be_recorded_twice(journal: Journal) -> None:
    from orchestrator.domain.event.run import EffectAbandoned

    await journal.append(EffectAbandoned(key="x~0", reason="once"))
    with pytest.raises(JournalProblem, match="recorded twice"):
        await journal.append(EffectAbandoned(key="x~0", reason="twice"))
    with pytest.raises(JournalProblem):
        await journal.append(notice("nothing may follow a failed write"))


async def test_an_illegal_move_is_never_written(tmp_path: Path, journal: Journal) -> None:
    with pytest.raises((IllegalTransition, ValueError)):
        await journal.append(TaskEnded(task=TaskId("ghost"), status=TaskStatus.REJECTED, reason=""))
    assert list(read_all_events(tmp_path / "journal.db")) == []


async def test_a_full_disk_is_told_and_loses_nothing_that_was_written(tmp_path: Path, journal: Journal) -> None:
    await journal.append(notice("kept"))
    pages = journal._store._connection.execute("PRAGMA page_count").fetchone()[0]
    journal._store._connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(JournalProblem, match="free some disk space, then resume"):
        await journal.append(notice("x" * 100_000))
    assert texts(tmp_path / "journal.db") == ["kept"]


@pytest.mark.damaged_journal
def test_a_file_that_is_no_journal_is_told(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    path.write_bytes(b"this is not a database, but long enough to be looked at as one" * 20)
    with pytest.raises(JournalProblem, match="file is not a database; `orchestrate repair`"):
        EventStore.open_reader(path)


def test_a_missing_journal_is_told(tmp_path: Path) -> None:
    with pytest.raises(JournalProblem, match="there is no journal"):
        EventStore.open_reader(tmp_path / "journal.db")


@pytest.mark.damaged_journal
def test_a_journal_of_a_newer_program_is_refused(tmp_path: Path) -> None:
    store = EventStore.open_writer(tmp_path / "journal.db")
    store._connection.execute("PRAGMA user_version = 99")
    store._connection.execute(f"PRAGMA application_id = {0x4F726300 + 99}")
    store.close()
    with pytest.raises(JournalProblem, match="journal schema 99"):
        EventStore.open_reader(tmp_path / "journal.db")
    with pytest.raises(JournalProblem, match="journal schema 99"):
        repair_journal(RunDirectory(tmp_path))


def insert_raw(path: Path, kind: str, version: int, body: str) -> None:
    """An event as a program that knows other events might have written it: with a sound sum."""
    EventStore.open_writer(path).close()
    at = "2026-01-01T00:00:00+00:00"
    total = chain_sum(INITIAL_SUM, (1, at.encode(), kind.encode(), version, None, None, None, body.encode()))
    connection = sqlite3.connect(path)
    connection.execute(
        "INSERT INTO event(seq, at, kind, v, body, sum) VALUES(1, ?, ?, ?, ?, ?)", (at, kind, version, body, total)
    )
    connection.commit()
    connection.close()


def test_an_event_of_an_unknown_version_is_refused_with_its_place(tmp_path: Path) -> None:
    insert_raw(tmp_path / "journal.db", "run.noticed", 7, format_event_body(notice("x")))
    with pytest.raises(
        JournalProblem, match=r"event 1: event 'run.noticed' version 7: this program knows version \[1\]"
    ):
        fold_events(read_all_events(tmp_path / "journal.db"))


def test_a_damaged_event_is_told_with_its_place(tmp_path: Path) -> None:
    insert_raw(tmp_path / "journal.db", "run.noticed", 1, '{"level": "info"}')
    with pytest.raises(JournalProblem, match=r"is damaged: event 1 \(run.noticed\) does not have its shape") as raised:
        fold_events(read_all_events(tmp_path / "journal.db"))
    assert "(text: Field required)" in str(raised.value)
    assert "pydantic" not in str(raised.value)


WRITER = """
    import sys, anyio
    from pathlib import Path
    from orchestrator.domain.event.run import Noticed
    from orchestrator.journal.journal import Journal, SystemClock

    async def main():
        journal = Journal(Path(sys.argv[1]), SystemClock())
        number = 0
        while True:
            await journal.append(Noticed(level="info", text=str(number)))
            print(number, flush=True)
            number += 1

    anyio.run(main)
"""


def test_kill_9_in_the_middle_of_writing_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    words = [sys.executable, "-c", textwrap.dedent(WRITER), str(tmp_path)]
    for _ in range(3):
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            said = [writer.stdout.readline().strip() for _ in range(30)]
            writer.kill()
            said += writer.stdout.read().split()
        stored = texts(tmp_path / "journal.db")
        session = stored[len(stored) - stored[::-1].index("0") - 1 :]
        assert writer.returncode == -9
        assert session[: len(said)] == said
        assert len(session) - len(said) <= 1


DIES_AT_RENAME = """
    import os, sys
    from pathlib import Path
    from orchestrator.journal.storage.event_store import EventStore

    sys.addaudithook(lambda name, _: os.kill(os.getpid(), 9) if name == "os.rename" else None)
    EventStore.open_writer(Path(sys.argv[1]))
"""


def test_a_journal_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    words = [sys.executable, "-c", textwrap.dedent(DIES_AT_RENAME), str(path)]
    assert subprocess.run(words, check=False).returncode == -9
    assert not path.exists()
    EventStore.open_writer(path).close()
    assert list(read_all_events(path)) == []


async def test_a_follower_whose_terminal_has_gone_away_is_told_nothing_more_and_the_journal_goes_on(
    tmp_path: Path, journal: Journal
) -> None:
    seen: list[int] = []

    def gone(_: RecordedEvent) -> None:
        raise BrokenPipeError

    journal.listeners += [gone, lambda recorded: seen.append(recorded.seq)]
    await journal.append(notice("one"))
    await journal.append(notice("two"))
    assert (seen, len(journal.listeners)) == ([1, 2], 1)
    assert texts(tmp_path / "journal.db") == ["one", "two"]


async def test_events_are_not_lost_when_what_is_derived_from_them_fails(tmp_path: Path, journal: Journal) -> None:
    def broken(_: RunState) -> str:
        raise ZeroDivisionError

    journal.projections["broken"] = broken
    with pytest.raises(ZeroDivisionError):
        await journal.append(notice("one"))
    del journal.projections["broken"]
    await journal.append(notice("two"))
    assert texts(tmp_path / "journal.db") == ["one", "two"]


async def test_what_a_person_said_is_in_what_is_derived_as_soon_as_it_is_recorded(
    tmp_path: Path, journal: Journal
) -> None:
    journal.projections["status"] = lambda state: f'{{"seq": {state.seq}}}'
    taken = CommandTaken(key="k", by="ada", sent_at=journal.read_clock(), command=Pause())
    for event in (notice("one"), notice("two"), taken):
        await journal.append(event)
    kept = read_projection(tmp_path / "journal.db", "status")
    assert kept
    assert (kept.is_current, kept.body) == (True, '{"seq": 3}')
