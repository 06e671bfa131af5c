"""What the verbs that read say of a damaged journal: all that can be read, then the damage; and what repair does."""

import json
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple, cast

import pytest

from orchestrator.cli.main import main
from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.event.run import BaselineRecorded, Noticed
from orchestrator.domain.ids import RunId
from orchestrator.journal.locations.run_directory import RunDirectory, StateDirectory
from orchestrator.journal.storage.checksums import EventColumns
from orchestrator.journal.storage.event_store import EventStore, read_all_events, write_journal_file
from tests.golden import DATA
from tests.unit.journal.test_golden_journals import restore

RUN = RunId("20261120-131127-e989")


class Said(NamedTuple):
    code: int
    out: str
    err: str


Verb = Callable[..., Said]


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("repo")
    for words in (("init", "-q"), ("commit", "-q", "--allow-empty", "--message", "base")):
        subprocess.run(["git", *words], cwd=made, check=True)
    return made


@pytest.fixture
def directory(tmp_path: Path, repository: Path) -> RunDirectory:
    """A finished run of a repository."""
    found = StateDirectory.locate_for(repository, str(tmp_path / "state")).get_run(RUN)
    found.path.mkdir(parents=True)
    restore(DATA / "journals" / "goal.v2.jsonl", found.journal)
    return found


@pytest.fixture
def ask(tmp_path: Path, repository: Path, directory: RunDirectory, capsys: pytest.CaptureFixture[str]) -> Verb:
    def asked(verb: str, *words: str) -> Said:
        with pytest.raises(SystemExit) as left:
            main([verb, *words, "--repo", str(repository), "--state", str(tmp_path / "state")])
        assert isinstance(left.value.code, int)
        return Said(left.value.code, *capsys.readouterr())

    return asked


def change(directory: RunDirectory, seq: int) -> None:
    raw = sqlite3.connect(directory.journal)
    raw.execute("DROP TRIGGER IF EXISTS event_is_never_changed")
    raw.execute("UPDATE event SET body = replace(body, '{', '{ ') WHERE seq = ?", (seq,))
    raw.commit()
    raw.close()


def test_logs_prints_the_events_before_the_damage_and_then_says_so(ask: Verb, directory: RunDirectory) -> None:
    change(directory, 30)
    said = ask("logs", "--json")
    assert said.code == 7
    assert [json.loads(line)["seq"] for line in said.out.splitlines()] == list(range(1, 30))
    assert "event 30 is not what was written" in said.err
    assert "orchestrate repair" in said.err


def test_status_shows_the_run_up_to_the_damage_and_then_says_so(ask: Verb, directory: RunDirectory) -> None:
    change(directory, 30)
    said = ask("status", "--json")
    assert said.code == 7
    assert json.loads(said.out)["run"] == RUN
    assert "what is shown is the run up to event 29" in said.err


@pytest.mark.damaged_journal
@pytest.mark.parametrize("verb", [("status",), ("logs",), ("show", "latest", "discounts"), ("report",), ("resume",)])
@pytest.mark.parametrize("harm", ["header", "empty", "zeros"])
def test_a_file_of_which_nothing_can_be_read_is_told_without_a_traceback(
    ask: Verb, directory: RunDirectory, verb: tuple[str, ...], harm: str
) -> None:
    content = directory.journal.read_bytes()
    content = {"header": b"x" * 100 + content[100:], "empty": b"", "zeros": bytes(len(content))}[harm]
    directory.journal.write_bytes(content)
    said = ask(*verb)
    assert said.code == 7
    assert said.out == ""
    assert "orchestrate repair" in said.err
    assert "Traceback" not in said.err


def test_events_that_vanished_with_the_wal_are_missed(ask: Verb, directory: RunDirectory) -> None:
    store = EventStore.open_writer(directory.journal)
    store.claim_writer()
    last = store.read_last_seq()
    more = [RecordedEvent(last + n, datetime.now(UTC), Noticed(level="info", text="more")) for n in (1, 2, 3)]
    store.insert_events(more)
    lost = directory.path.parent / "copy"
    shutil.copytree(directory.path, lost)
    store.close()
    shutil.rmtree(directory.path)
    shutil.copytree(lost, directory.path, ignore=shutil.ignore_patterns("*-wal", "*-shm"))
    shutil.rmtree(lost)
    said = ask("logs")
    assert said.code == 7
    assert f"events {last + 1} to {last + len(more)}, which were recorded, are missing" in said.err


def test_repair_tells_what_it_kept_and_the_verbs_work_again(ask: Verb, directory: RunDirectory) -> None:
    give_up_blobs(ask)
    before = list(read_all_events(directory.journal))
    damaged = directory.journal
    change(directory, 30)
    content = damaged.read_bytes()
    said = ask("repair")
    assert said.code == 0
    assert "Events 1 to 29 are kept." in said.out
    assert f"Events 31 to {len(before)} are set aside, being readable, in" in said.out
    assert "Event 30 is lost." in said.out
    aside = directory.path / "damaged-2"
    assert (aside / "journal.db").read_bytes() == content
    lines = [json.loads(line) for line in (aside / "set-aside.jsonl").read_text().splitlines()]
    assert [(line["seq"], line["sound"]) for line in lines][:2] == [(31, False), (32, True)]
    assert len(lines) == len(before) - 30
    assert list(read_all_events(directory.journal))[:29] == before[:29]
    assert ask("logs").code == 0
    assert ask("status").code == 0
    assert ask("repair").out == f"the journal of run {RUN} is sound: nothing was changed\n"


def give_up_blobs(ask: Verb) -> None:
    """The golden journal has no blobs, so a repair gives up all it names."""
    said = ask("repair", "--json")
    assert len(json.loads(said.out)["blobs"]) == 10


@pytest.mark.damaged_journal
def test_repair_of_a_file_of_which_nothing_is_left_says_so(ask: Verb, directory: RunDirectory) -> None:
    directory.journal.write_bytes(b"")
    said = ask("repair")
    assert (said.code, "Not even its first event could be read." in said.out) == (0, True)
    assert ask("resume").err.startswith(f"error: run {RUN} stopped before its first event: start it anew")


def test_repair_waits_for_nobody_who_works_on_the_run(ask: Verb, directory: RunDirectory) -> None:
    change(directory, 30)
    with directory.hold_lock():
        assert ask("repair").code == 8
    assert not (directory.path / "damaged-1").exists()


def test_a_repair_that_was_killed_is_done_again_from_the_file_kept_aside(ask: Verb, directory: RunDirectory) -> None:
    change(directory, 30)
    whole = directory.journal.read_bytes()
    ask("repair")
    (directory.path / "damaged-1" / "repaired.json").unlink()
    directory.journal.write_bytes(whole[:9_000])
    said = ask("repair", "--json")
    assert json.loads(said.out)["kept"] == 29
    assert len(list(read_all_events(directory.journal))) == 30


def test_logs_finds_words_and_prints_them_with_their_place(ask: Verb) -> None:
    said = ask("logs", "--search", "discounts finish*", "--json")
    hits = [json.loads(line) for line in said.out.splitlines()]
    assert said.code == 0
    assert hits
    assert all("«" in hit["snippet"] for hit in hits)
    assert [hit["seq"] for hit in hits] == sorted(hit["seq"] for hit in hits)
    own = ask("logs", "latest", "discounts", "--search", "discounts", "--json")
    assert {json.loads(line)["task"] for line in own.out.splitlines()} == {"discounts"}
    assert "«" in ask("logs", "--search", "discounts", "--limit", "1").out
    assert ask("logs", "--search", "nobodysaidthis").err == (f"nothing in run {RUN} holds all of these words\n")
    assert ask("logs", "--search", "x", "--follow").code == 2


@pytest.mark.parametrize("verb", [("run", "export", RUN, "run.tar"), ("replay", RUN), ("status", RUN)])
def test_events_that_cannot_have_happened_are_told_by_every_verb_that_reads_them_all(
    ask: Verb, directory: RunDirectory, verb: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    store = EventStore.open_writer(directory.journal)
    store.claim_writer()
    seq = max(recorded.seq for recorded in store.read_events()) + 1
    store.insert_events([RecordedEvent(seq, datetime.now(UTC), BaselineRecorded(receipts=("never",)))])
    store.close()
    said = ask(*verb)
    assert "names receipt 'never', which was never recorded" in said.out + said.err
    assert "repair" in said.out + said.err


def rewrite(directory: RunDirectory, rows: Iterable[EventColumns]) -> None:
    """Write the journal anew with these events, numbered and summed as a writer would have done it."""
    (directory.path / "journal.head").unlink(missing_ok=True)
    write_journal_file(directory.journal, [(seq, *columns) for seq, (_, *columns) in enumerate(rows, 1)])


def read_rows(directory: RunDirectory) -> list[EventColumns]:
    with EventStore.open_reader(directory.journal) as reader:
        return list(reader.read_rows())


@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        (b"iteration.started", "task.created names task 'root', but no iteration has begun"),
        (b"session.started", "model.called names session"),
        (b"attempt.started", "names attempt 1 of"),
        (b"model.called", "model.replied ends 'model/"),
    ],
)
def test_a_journal_without_an_event_of_its_middle_is_damaged_and_can_be_repaired(
    ask: Verb, directory: RunDirectory, kind: bytes, problem: str
) -> None:
    rows = read_rows(directory)
    rows.remove(next(row for row in rows if row[2] == kind))
    rewrite(directory, rows)
    said = ask("resume")
    assert said.code == 7
    assert problem in said.err
    assert "`orchestrate repair` keeps" in said.err
    assert problem in ask("repair").out
    assert ask("status").code == 0


@pytest.mark.parametrize("is_in_column", [False, True])
def test_an_event_with_the_key_of_another_try_is_damage(ask: Verb, directory: RunDirectory, is_in_column: bool) -> None:
    rows = read_rows(directory)
    seq, *columns, key, body = next(row for row in rows if row[2] == b"model.called")
    forged = body.replace(b'~0"', b'~3"', 1)
    assert key and forged != body
    stored = key.replace(b"~0", b"~3") if is_in_column else key
    rows[seq - 1] = cast(EventColumns, (seq, *columns, stored, forged))
    rewrite(directory, rows)
    said = ask("resume")
    assert said.code == 7
    assert ("the next try is" in said.err) == is_in_column
    assert ("not the one it is stored under" in said.err) != is_in_column
    assert "`orchestrate repair` keeps" in said.err
