"""Journals that earlier versions wrote must be readable for ever, and tell the same story."""

import json
import shutil
import sqlite3
from itertools import chain
from pathlib import Path

import pytest

from orchestrator.config.live_config import build_effective_config
from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.fold.projection import fold_events
from orchestrator.engine.commits import build_task_message
from orchestrator.errors import JournalProblem
from orchestrator.journal.damage.repair import repair_journal
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.journal.storage.event_store import EventStore, read_all_events
from orchestrator.journal.storage.schema import SCHEMA_VERSION
from orchestrator.report.run.result import build_status
from tests.golden import DATA, check_golden

JOURNALS = DATA / "journals"
KEPT = sorted(JOURNALS.glob("*.jsonl"))


def restore(lines: Path, path: Path) -> Path:
    """The journal file that a golden dump was taken from, in the schema that its name tells."""
    schema = int(lines.stem.rpartition(".v")[2])
    connection = sqlite3.connect(path)
    connection.executescript((JOURNALS / f"schema{schema}.sql").read_text(encoding="utf-8"))
    for line in lines.read_text(encoding="utf-8").splitlines():
        seq, at, kind, version, body, *total = json.loads(line)
        text = json.dumps(body, ensure_ascii=False, separators=(",", ":")) if total else json.dumps(body)
        row = (seq, at, kind, version, body.get("task"), body.get("session"), body.get("key"), text)
        connection.execute("INSERT INTO event(seq, at, kind, v, task, session, key, body) VALUES(?,?,?,?,?,?,?,?)", row)
    if schema > 1:
        _add_sums(connection, lines)
    connection.commit()
    connection.close()
    return path


def _add_sums(connection: sqlite3.Connection, lines: Path) -> None:
    connection.execute("DROP TRIGGER event_is_never_changed")
    for line in lines.read_text(encoding="utf-8").splitlines():
        seq, *_, total = json.loads(line)
        connection.execute("UPDATE event SET sum = ? WHERE seq = ?", (bytes.fromhex(total), seq))
        connection.execute("UPDATE fence SET seq = ?, sum = ?", (seq, bytes.fromhex(total)))


@pytest.mark.parametrize("kept", KEPT, ids=lambda path: path.stem)
def test_the_settings_in_a_kept_journal_still_make_a_configuration(kept: Path, tmp_path: Path) -> None:
    config = build_effective_config(fold_events(read_all_events(restore(kept, tmp_path / "journal.db"))))
    assert (config.run.lease_s, config.approval.mode) == (60, "auto"), "settings that came later"


def told(path: Path) -> list[RecordedEvent]:
    return list(read_all_events(path))


@pytest.mark.parametrize("kept", KEPT, ids=lambda path: path.stem)
def test_a_kept_journal_still_folds_to_the_same_status(kept: Path, tmp_path: Path) -> None:
    state = fold_events(read_all_events(restore(kept, tmp_path / "journal.db")))
    status = build_status(state, Path("journal.db")).as_object()
    assert not state.open_intents
    check_golden(f"journals/{kept.stem}.status.json", json.dumps(status, indent=1, ensure_ascii=False) + "\n")


@pytest.mark.parametrize("kept", KEPT, ids=lambda path: path.stem)
def test_attempts_of_a_kept_journal_have_identities_and_its_commits_stay_the_same(kept: Path, tmp_path: Path) -> None:
    state = fold_events(read_all_events(restore(kept, tmp_path / "journal.db")))
    for task in state.tasks.values():
        assert [one.number for one in task.attempts] == [one.attempt for one in task.identities]
        for identity in task.identities:
            assert (identity.run, identity.engine, identity.policy) == (state.run.run, "loop", "")
    for unit in chain.from_iterable(landing.units for landing in state.landings if state.run.mode == "goal"):
        *_, trailers = build_task_message(state, unit).split("\n\n")
        names = [line.partition(":")[0] for line in trailers.splitlines()]
        assert names == ["Orchestrate-Run", "Orchestrate-Task", "Orchestrate-Gate"]


def test_journals_of_every_schema_are_kept() -> None:
    assert [path.name for path in KEPT] == ["goal.v1.jsonl", "goal.v2.jsonl", "migration.v1.jsonl"]
    assert len(list(JOURNALS.glob("schema*.sql"))) == SCHEMA_VERSION


@pytest.mark.parametrize("kept", KEPT, ids=lambda path: path.stem)
def test_a_kept_journal_tells_the_same_after_it_was_migrated(kept: Path, tmp_path: Path) -> None:
    path = restore(kept, tmp_path / "journal.db")
    before = told(path)
    EventStore.open_writer(path).close()
    assert told(path) == before
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)
    assert connection.execute("SELECT count(*) FROM event WHERE length(sum) = 8").fetchone() == (len(before),)
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        connection.execute("DELETE FROM event")
    connection.close()


def test_a_migrated_journal_counts_epochs_on_from_those_it_tells_of(tmp_path: Path) -> None:
    path = restore(JOURNALS / "goal.v1.jsonl", tmp_path / "journal.db")
    started = fold_events(read_all_events(path)).epoch
    store = EventStore.open_writer(path)
    assert (started, store.claim_writer()) == (1, 2)
    store.close()


def test_a_migration_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = restore(JOURNALS / "goal.v1.jsonl", tmp_path / "journal.db")
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE fence(taken)")
    connection.commit()
    connection.close()
    copy = shutil.copy(path, tmp_path / "copy.db")
    with pytest.raises(Exception, match="fence already exists"):
        EventStore.open_writer(path)
    assert told(path) == told(Path(copy))


def test_a_damaged_journal_of_an_older_schema_is_repaired_by_the_shape_of_its_events(tmp_path: Path) -> None:
    path = restore(JOURNALS / "migration.v1.jsonl", tmp_path / "journal.db")
    before = told(path)
    connection = sqlite3.connect(path)
    connection.execute("DROP TRIGGER event_is_never_changed")
    connection.execute("UPDATE event SET body = '{\"level\":' WHERE seq = 20")
    connection.commit()
    connection.close()
    with pytest.raises(JournalProblem, match=r"event 20 .* does not have its shape"):
        told(path)
    result = repair_journal(RunDirectory(tmp_path))
    assert result is not None
    assert (result.kept, result.lost, result.set_aside) == (19, ((20, 20),), ((21, len(before)),))
    assert told(path)[:19] == before[:19]
