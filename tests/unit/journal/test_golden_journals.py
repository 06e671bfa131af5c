"""Journals that earlier versions wrote must be readable for ever, and tell the same story."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.fold import fold
from orchestrator.journal.store import Store, read_all
from orchestrator.report.status import status_object
from tests.golden import DATA, check_golden

KEPT = sorted((DATA / "journals").glob("*.jsonl"))


def restore(lines: Path, path: Path) -> Path:
    """The journal file that a golden dump was taken from."""
    Store.open_writer(path).close()
    connection = sqlite3.connect(path)
    for line in lines.read_text(encoding="utf-8").splitlines():
        seq, at, kind, version, body = json.loads(line)
        row = (seq, at, kind, version, body.get("task"), body.get("session"), body.get("key"), json.dumps(body))
        connection.execute("INSERT INTO event(seq, at, kind, v, task, session, key, body) VALUES(?,?,?,?,?,?,?,?)", row)
    connection.commit()
    connection.close()
    return path


@pytest.mark.parametrize("kept", KEPT, ids=lambda path: path.stem)
def test_a_kept_journal_still_folds_to_the_same_status(kept: Path, tmp_path: Path) -> None:
    state = fold(read_all(restore(kept, tmp_path / "journal.db")))
    status: dict[str, Any] = status_object(state, Path("journal.db"))
    assert not state.open_intents
    check_golden(f"journals/{kept.stem}.status.json", json.dumps(status, indent=1, ensure_ascii=False) + "\n")


def test_journals_of_both_kinds_of_run_are_kept() -> None:
    assert [path.name for path in KEPT] == ["goal.v1.jsonl", "migration.v1.jsonl"]
