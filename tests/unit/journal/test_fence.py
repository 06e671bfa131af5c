"""One process may write: the last that claimed the journal."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.event.run import EngineStarted, Noticed
from orchestrator.errors import JournalProblem, RunTakenOver
from orchestrator.journal.journal import Journal, SystemClock
from orchestrator.journal.locations.run_lock import hold_run_lock
from orchestrator.journal.storage.event_store import EventStore, read_all_events


def notice(text: str) -> Noticed:
    return Noticed(level="info", text=text)


async def test_each_process_that_opens_the_journal_has_a_higher_epoch(tmp_path: Path) -> None:
    epochs = []
    for _ in range(3):
        journal = Journal(tmp_path, SystemClock())
        epochs.append(journal.epoch)
        journal.close()
    assert epochs == [1, 2, 3]


async def test_an_epoch_is_above_that_of_every_engine_the_journal_tells_of(tmp_path: Path) -> None:
    journal = Journal(tmp_path, SystemClock())
    await journal.append(EngineStarted(epoch=41, pid=1, host="h", version="0"))
    journal.close()
    again = Journal(tmp_path, SystemClock())
    assert again.epoch == 42
    again.close()


async def test_a_process_that_was_replaced_records_nothing_more_and_says_who_took_over(tmp_path: Path) -> None:
    directory = tmp_path / "run-7f3a"
    slept = Journal(directory, SystemClock())
    await slept.append(notice("before"))
    other = Journal(directory, SystemClock())
    await other.append(notice("by the other"))
    with pytest.raises(RunTakenOver, match=rf"process {os.getpid()} on .* took over run run-7f3a") as raised:
        await slept.append(notice("too late"))
    with pytest.raises(RunTakenOver):
        await slept.append(notice("later still"))
    await other.append(notice("goes on"))
    told = [recorded.event.text for recorded in read_all_events(directory / "journal.db")]  # type: ignore[attr-defined]
    assert (told, raised.value.exit_code) == (["before", "by the other", "goes on"], 8)
    slept.close()
    other.close()


def test_a_lock_that_was_replaced_while_its_holder_slept_is_not_held_any_more(tmp_path: Path) -> None:
    directory = tmp_path / "run-7f3a"
    with hold_run_lock(directory, "the run") as slept:
        slept.require_held()
        slept.write_owner(lease_s=-1)
        with hold_run_lock(directory, "the run") as other:
            with pytest.raises(RunTakenOver, match="another process took over run run-7f3a"):
                slept.require_held()
            other.require_held()


async def test_a_store_that_never_claimed_writes_nothing(tmp_path: Path) -> None:
    store = EventStore.open_writer(tmp_path / "journal.db")
    with pytest.raises(RuntimeError, match="claimed"):
        store.insert_events([RecordedEvent(1, SystemClock().now(), notice("x"))])
    store.close()
    assert list(read_all_events(tmp_path / "journal.db")) == []


async def test_an_event_that_would_leave_a_gap_is_not_written(tmp_path: Path) -> None:
    store = EventStore.open_writer(tmp_path / "journal.db")
    store.claim_writer()
    with pytest.raises(JournalProblem, match="event 3 cannot follow event 0"):
        store.insert_events([RecordedEvent(3, SystemClock().now(), notice("x"))])
    store.close()


async def test_halves_of_characters_are_spelled_out_and_the_state_is_what_will_be_read(tmp_path: Path) -> None:
    journal = Journal(tmp_path, SystemClock())
    await journal.append(notice("half \ud83d of a smile, and \udc80"))
    long = await journal.store_text("\udfff" * 5_000)
    assert await journal.read_text(long) == r"\udfff" * 5_000
    assert (await journal.store_text("\ud800")).head == r"\ud800"
    assert [recorded.event for recorded in read_all_events(tmp_path / "journal.db")] == list(journal.state.notices)
    assert journal.state.notices[0].text == r"half \ud83d of a smile, and \udc80"
    journal.close()


SLEEPER = """
import sys, anyio
from pathlib import Path
from orchestrator.domain.event.run import Noticed
from orchestrator.errors import OrchestrateError
from orchestrator.journal.journal import Journal, SystemClock

async def main():
    journal = Journal(Path(sys.argv[1]), SystemClock())
    try:
        for number in range(2):
            await journal.append(Noticed(level="info", text=f"sleeper {number}"))
            print("appended", flush=True)
            sys.stdin.readline()
    except OrchestrateError as problem:
        print(problem, flush=True)
        sys.exit(problem.exit_code)

anyio.run(main)
"""


def test_a_process_that_was_stopped_and_replaced_cannot_append_when_it_wakes(tmp_path: Path) -> None:
    directory = tmp_path / "run-7f3a"
    words = [sys.executable, "-c", SLEEPER, str(directory)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as sleeper:
        assert sleeper.stdin is not None
        assert sleeper.stdout is not None
        assert sleeper.stdout.readline() == "appended\n"
        sleeper.send_signal(signal.SIGSTOP)
        store = EventStore.open_writer(directory / "journal.db")
        store.claim_writer()
        store.insert_events([RecordedEvent(2, SystemClock().now(), notice("the new one"))])
        sleeper.send_signal(signal.SIGCONT)
        sleeper.stdin.write("\n")
        sleeper.stdin.flush()
        told = sleeper.stdout.readline()
    store.close()
    assert sleeper.returncode == 8
    assert f"process {os.getpid()} on" in told
    assert "took over run run-7f3a; this one stops and records nothing more" in told
    assert [recorded.event for recorded in read_all_events(directory / "journal.db")] == [
        notice("sleeper 0"),
        notice("the new one"),
    ]
