"""Search over everything that was said and done."""

import sqlite3
import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.event.run import Noticed
from orchestrator.domain.event.work import SessionStarted, ToolCalled, ToolReturned
from orchestrator.domain.ids import SessionId, TaskId
from orchestrator.journal.full_text.event_words import extract_words
from orchestrator.journal.full_text.index import INDEX_FILE, hold_index_lock
from orchestrator.journal.full_text.search import find_events, search_events
from orchestrator.journal.journal import Journal, SystemClock
from orchestrator.journal.maintenance import JournalMaintenance
from orchestrator.journal.storage.blobs import BlobStore
from orchestrator.journal.storage.event_store import EventStore
from tests.golden import DATA
from tests.unit.journal.test_golden_journals import restore
from tests.unit.journal.test_snapshots import kept

TASK, SESSION = TaskId("storage/index"), SessionId("work:storage/index@1")


def notice(text: str) -> Noticed:
    return Noticed(level="info", text=text)


async def told(directory: Path) -> Journal:
    """A journal in which a worker of one task has used a tool with a long output."""
    journal = Journal(directory, SystemClock())
    shared = {"task": TASK, "session": SESSION, "turn": 3, "key": "tool~0", "name": "shell"}
    output = "\n".join(f"line {number}" for number in range(3_000)) + "\nConnectionRefused by peer_name at the end"
    await journal.append(
        notice("the first word"),
        SessionStarted(
            task=TASK, session=SESSION, role="worker", model="m", prompt="p",
            system=await journal.store_text("You are a worker"),
            brief=await journal.store_text("Überprüfe the naïve index"),
        ),
        ToolCalled(**shared, arguments=await journal.store_text('{"command": "pytest -q\\ntail log"}')),
        ToolReturned(**shared, call_id="c", ok=True, observation=await journal.store_text(output), seconds=0.5),
        notice("the word at the end"),
    )  # fmt: skip
    return journal


@pytest.mark.parametrize(
    ("query", "seqs"),
    [
        ("word", [5, 1]),
        ("FIRST word", [1]),
        ('"word at"', [5]),
        ('"at word"', []),
        ("naive", [2]),
        ("überprüfe", [2]),
        ("connectionref*", [4]),
        ("peer_name", [4]),
        ("tail", [3]),
        ("pytest worker", []),
        ("storage", []),
    ],
)
async def test_words_are_found_wherever_they_were_said(tmp_path: Path, query: str, seqs: list[int]) -> None:
    (await told(tmp_path)).close()
    assert [hit.seq for hit in search_events(tmp_path, query, 10)] == seqs


async def test_a_hit_tells_where_it_was_and_marks_the_match(tmp_path: Path) -> None:
    (await told(tmp_path)).close()
    hit = search_events(tmp_path, "refused* OR connectionrefused", 10)
    assert hit == []  # OR is a word like others
    hit = search_events(tmp_path, "connectionrefused", 10)
    assert [(h.seq, h.kind, h.task, h.session, h.turn) for h in hit] == [(4, "tool.returned", TASK, SESSION, 3)]
    assert "«ConnectionRefused» by peer_name at the end" in hit[0].snippet


async def test_a_search_can_be_narrowed_to_a_task_or_session(tmp_path: Path) -> None:
    journal = await told(tmp_path)
    await journal.append(notice("pytest too").model_copy(update={"task": TaskId("storage/index/deep")}))
    journal.close()
    assert [hit.seq for hit in search_events(tmp_path, "pytest", 10)] == [6, 3]
    assert [hit.seq for hit in search_events(tmp_path, "pytest", 10, task=TASK)] == [3]
    assert [hit.seq for hit in search_events(tmp_path, "pytest", 10, session=SESSION)] == [3]
    assert search_events(tmp_path, "pytest", 10, task="storage") == []


async def test_the_newest_come_first_and_no_more_than_the_limit(tmp_path: Path) -> None:
    journal = Journal(tmp_path, SystemClock())
    await journal.append(*(notice(f"same {number}") for number in range(30)))
    journal.close()
    assert [hit.seq for hit in search_events(tmp_path, "same", 3)] == [30, 29, 28]


async def test_what_is_recorded_after_a_search_is_found_by_the_next(tmp_path: Path) -> None:
    journal = await told(tmp_path)
    assert await journal.search_events("later", 5) == []
    await journal.append(notice("said later"))
    assert [hit.seq for hit in await journal.search_events("later", 5)] == [6]
    journal.close()


@pytest.mark.parametrize("harm", ["deleted", "garbage", "cut", "alien"])
async def test_an_index_that_is_lost_or_does_not_fit_is_made_anew(tmp_path: Path, harm: str) -> None:
    (await told(tmp_path)).close()
    assert len(search_events(tmp_path, "word", 10)) == 2
    index = tmp_path / INDEX_FILE
    if harm == "deleted":
        index.unlink()
    elif harm == "garbage":
        index.write_bytes(b"no database" * 500)
    elif harm == "cut":
        index.write_bytes(index.read_bytes()[:9_000])
    else:
        other = tmp_path / "other"
        journal = Journal(other, SystemClock())
        await journal.append(*(notice(f"other {number}") for number in range(9)))
        journal.close()
        search_events(other, "other", 1)
        index.write_bytes((other / INDEX_FILE).read_bytes())
    assert len(search_events(tmp_path, "word", 10)) == 2


async def test_a_lost_blob_costs_only_what_stood_in_it(tmp_path: Path) -> None:
    journal = await told(tmp_path)
    for path in (tmp_path / "blobs").rglob("?" * 64):
        path.unlink()
    journal.close()
    assert [hit.seq for hit in search_events(tmp_path, '"line 7"', 5)] == [4]
    assert search_events(tmp_path, "connectionrefused", 5) == []


async def test_of_a_damaged_journal_what_can_be_read_is_searched(tmp_path: Path) -> None:
    (await told(tmp_path)).close()
    raw = sqlite3.connect(tmp_path / "journal.db")
    raw.execute("DROP TRIGGER event_is_never_changed")
    raw.execute("UPDATE event SET body = replace(body, 'word at', 'wurd at') WHERE seq = 5")
    raw.commit()
    raw.close()
    found = find_events(tmp_path, "word", 10)
    assert [hit.seq for hit in found.hits] == [1]
    assert found.damage is not None
    assert found.damage.seq == 4


def test_a_journal_of_an_older_schema_is_searched_without_being_changed(tmp_path: Path) -> None:
    path = restore(DATA / "journals" / "goal.v1.jsonl", tmp_path / "journal.db")
    before = path.read_bytes()
    assert search_events(tmp_path, "discounts", 100)
    assert search_events(tmp_path, "discounts", 100) == search_events(tmp_path, "discounts", 100)
    assert path.read_bytes() == before


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=40) | st.text(alphabet='"*^():{}+-~ANDORNEAR \0\ud800', max_size=20), st.text(max_size=5))
def test_no_query_is_an_error(tmp_path_factory: pytest.TempPathFactory, query: str, task: str) -> None:
    place = _one_place(tmp_path_factory)
    for hit in search_events(place, query, 3, task=task or None):
        assert hit.seq


def _one_place(factory: pytest.TempPathFactory) -> Path:
    place = factory.getbasetemp() / "queries"
    if not place.exists():
        place.mkdir()
        store = EventStore.open_writer(place / "journal.db")
        store.claim_writer()
        store.insert_events([RecordedEvent(1, SystemClock().now(), notice("some words AND others"))])
        store.close()
    return place


def test_everything_said_in_a_real_run_is_found_by_its_words(tmp_path: Path) -> None:
    store = EventStore.open_writer(tmp_path / "journal.db")
    store.claim_writer()
    events = kept("goal.v2", tmp_path)
    store.insert_events(events)
    store.close()
    notices = [recorded for recorded in events if isinstance(recorded.event, Noticed)]
    for recorded in notices:
        words = recorded.event.text.split()[:4]  # type: ignore[attr-defined]
        assert recorded.seq in [hit.seq for hit in search_events(tmp_path, " ".join(words), 1_000)]
    assert {"run.started", "session.started", "model.replied", "tool.called", "tool.returned", "verdict.given"} <= {
        hit.kind for word in ("discounts", "a", "the", "finish") for hit in search_events(tmp_path, word, 1_000)
    }


async def test_the_caretaker_keeps_the_index_close_behind_the_journal(tmp_path: Path) -> None:
    journal = await told(tmp_path)
    caretaker = JournalMaintenance(journal, pause_s=0.01)
    for _ in range(6_000):
        if (tmp_path / INDEX_FILE).exists() and _indexed(tmp_path) == 5:
            break
        await anyio.sleep(0.01)
    caretaker.close()
    journal.close()
    assert _indexed(tmp_path) == 5


def _indexed(directory: Path) -> int:
    connection = sqlite3.connect(directory / INDEX_FILE)
    try:
        return int(connection.execute("SELECT seq FROM place").fetchone()[0])
    except sqlite3.OperationalError:
        return 0
    finally:
        connection.close()


READ_ONLY = """
import sys
from pathlib import Path
from orchestrator.journal.full_text.event_words import extract_words
from orchestrator.journal.full_text.search import search_events
from orchestrator.journal.state.derivation import read_state
print([hit.seq for hit in search_events(Path(sys.argv[1]), "word", 9)], read_state(Path(sys.argv[1], "journal.db")).seq)
"""


def read_only(place: str) -> tuple[str, str]:
    bound = ["bwrap", "--dev-bind", "/", "/", "--ro-bind", place, place, sys.executable, "-c", READ_ONLY, place]
    done = subprocess.run(bound, capture_output=True, text=True, check=False)
    return done.stdout, done.stderr


@pytest.mark.sandbox
async def test_a_read_only_directory_is_read_and_searched(tmp_path: Path) -> None:
    (await told(tmp_path / "run")).close()
    assert read_only(str(tmp_path / "run")) == ("[5, 1] 5\n", "")
    assert not (tmp_path / "run" / INDEX_FILE).exists()


def test_a_blob_given_up_by_repair_is_not_asked_for_again(tmp_path: Path) -> None:
    blobs = BlobStore(tmp_path / "blobs")
    sha = blobs.write_blob(b"content")
    blobs.discard_blob(sha, tmp_path / "aside")
    assert (tmp_path / "aside" / sha).read_bytes() == b"content"
    assert blobs.is_intact(sha)
    assert blobs.write_blob(b"content") == sha
    assert blobs.read_blob(sha) == b"content"


@pytest.mark.parametrize(
    "arguments",
    ['{"head": 20}', '{"head": "needle", "sha": "/dev/zero"}', "[" * 3_000, '{"a":' * 900 + '"needle"' + "}" * 900],
    ids=["a-number", "a-path", "no-json", "deep"],
)
async def test_whatever_a_model_gives_a_tool_costs_no_search_and_reads_no_file(tmp_path: Path, arguments: str) -> None:
    journal = Journal(tmp_path, SystemClock())
    shared = {"task": TASK, "session": SESSION, "turn": 3, "key": "tool~0", "name": "shell"}
    await journal.append(ToolCalled(**shared, arguments=await journal.store_text(arguments)), notice("the end"))
    journal.close()
    assert [hit.seq for hit in search_events(tmp_path, "end", 10)] == [2]
    assert [hit.seq for hit in search_events(tmp_path, "needle", 10)] == [1] * ("needle" in arguments)


def test_thinking_is_not_found_so_that_agents_do_not_recall_each_others() -> None:
    thought = {"head": "I doubt it", "size": 10, "sha": None}
    body = {"text": {"head": "done", "size": 4, "sha": None}, "reasoning": thought, "reasoning_blocks": thought}
    assert extract_words(body, lambda _sha: None).said == "done"


async def test_many_searches_that_wait_for_the_index_keep_nobody_from_appending(tmp_path: Path) -> None:
    journal = await told(tmp_path)
    async with anyio.create_task_group() as tasks:
        with hold_index_lock(tmp_path) as has_lock:
            assert has_lock
            for _ in range(60):
                tasks.start_soon(journal.search_events, "word", 10)
            await anyio.sleep(0.2)
            begun = anyio.current_time()
            await journal.append(notice("while they wait"))
            assert anyio.current_time() - begun < 10  # a search gives up waiting after 60 s
    journal.close()
