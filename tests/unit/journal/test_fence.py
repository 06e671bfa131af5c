"""One process may write: the last that claimed the journal."""

import os
from pathlib import Path

import pytest

from orchestrator.domain.event import Recorded
from orchestrator.domain.event.run import EngineStarted, Noticed
from orchestrator.errors import JournalProblem, Replaced
from orchestrator.journal.journal import Journal, SystemClock
from orchestrator.journal.store import Store, read_all


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
    with pytest.raises(Replaced, match=rf"process {os.getpid()} on .* took over run run-7f3a") as raised:
        await slept.append(notice("too late"))
    with pytest.raises(Replaced):
        await slept.append(notice("later still"))
    await other.append(notice("goes on"))
    told = [recorded.event.text for recorded in read_all(directory / "journal.db")]  # type: ignore[attr-defined]
    assert (told, raised.value.exit_code) == (["before", "by the other", "goes on"], 8)
    slept.close()
    other.close()


async def test_a_store_that_never_claimed_writes_nothing(tmp_path: Path) -> None:
    store = Store.open_writer(tmp_path / "journal.db")
    with pytest.raises(RuntimeError, match="claimed"):
        store.insert([Recorded(1, SystemClock().now(), notice("x"))])
    store.close()
    assert list(read_all(tmp_path / "journal.db")) == []


async def test_an_event_that_would_leave_a_gap_is_not_written(tmp_path: Path) -> None:
    store = Store.open_writer(tmp_path / "journal.db")
    store.claim()
    with pytest.raises(JournalProblem, match="event 3 cannot follow event 0"):
        store.insert([Recorded(3, SystemClock().now(), notice("x"))])
    store.close()


async def test_halves_of_characters_are_spelled_out_and_the_state_is_what_will_be_read(tmp_path: Path) -> None:
    journal = Journal(tmp_path, SystemClock())
    await journal.append(notice("half \ud83d of a smile, and \udc80"))
    long = await journal.keep("\udfff" * 5_000)
    assert await journal.read(long) == r"\udfff" * 5_000
    assert (await journal.keep("\ud800")).head == r"\ud800"
    assert [recorded.event for recorded in read_all(tmp_path / "journal.db")] == list(journal.state.notices)
    assert journal.state.notices[0].text == r"half \ud83d of a smile, and \udc80"
    journal.close()
