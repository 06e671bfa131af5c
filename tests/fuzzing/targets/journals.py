"""Journals and what lies beside them: damaged files, and sound ones whose events say odd things."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any
from xml.etree import ElementTree

from orchestrator.errors import JournalProblem
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.journal.storage.event_store import write_journal_file
from tests.fuzzing.case_process import Refuted
from tests.fuzzing.ground import Ground
from tests.fuzzing.mutations import encode_json, mutate_bytes, mutate_document
from tests.fuzzing.odd_values import choose_text
from tests.fuzzing.target import Given, Target

_READERS: tuple[tuple[str, ...], ...] = (
    ("status",),
    ("status", "--json"),
    ("logs",),
    ("logs", "--json"),
    ("logs", "--search", "a"),
    ("show", "{run}", "a"),
    ("show", "{run}", "calc.py"),
    ("show", "{run}", "a", "--json"),
    ("cost",),
    ("cost", "--json"),
    ("diff",),
    ("report", "{run}", "--html", "{home}/r.html", "--junit", "{home}/r.xml", "--sarif", "{home}/r.sarif"),
    ("report", "{run}", "--markdown", "{home}/r.md"),
    ("report", "{run}", "--json"),
    ("inbox",),
    ("watch", "--plain", "--once"),
    ("migrate", "status"),
    ("migrate", "report"),
    ("run", "export", "{run}", "{home}/run.tar"),
    ("gc",),
    ("repair",),
)
_CHANGES = ("bytes", "sql", "event", "event", "event", "event", "text", "file", "drop", "double")


def _make_case(chance: Random) -> Given:
    given: Given = [["run", chance.randrange(3)]]
    for _ in range(chance.choice((1, 1, 2, 4))):
        given.append([chance.choice(_CHANGES), chance.randrange(2**32)])
    for number in chance.sample(range(len(_READERS)), k=4):
        given.append(["verb", number])
    return given


def _make_resumed(chance: Random) -> Given:
    given = [part for part in _make_case(chance) if part[0] != "verb"]
    return [*given, ["cut", chance.randrange(2**32)], ["resume", 0]]


def _run_case(given: Given, place: Path) -> None:
    ground = Ground(place)
    directory = ground.list_runs()[0]
    for kind, number in given:
        match kind:
            case "run":
                directory = ground.list_runs()[number]
            case "verb":
                _read(ground, directory, _READERS[number])
            case "resume":
                ground.call_verb("repair", directory.run, *ground.where)
                ground.call_verb("resume", directory.run, *ground.where)
                ground.call_verb("status", directory.run, *ground.where)
            case "cut" | "bytes" | "sql" | "event" | "text" | "file" | "drop" | "double":
                _change_run(Random(number), directory, kind)


def _read(ground: Ground, directory: RunDirectory, verb: tuple[str, ...]) -> None:
    words = [word.replace("{run}", directory.run).replace("{home}", str(ground.home)) for word in verb]
    if directory.run not in words:
        words.insert(2 if words[0] == "migrate" else 1, directory.run)
    ground.call_verb(*words, *ground.where)
    for path in ground.home.glob("r.*"):
        _check_document(path)
        path.unlink()


def _check_document(path: Path) -> None:
    """Refute a document that other programs could not read."""
    text = path.read_text(encoding="utf-8")
    try:
        if path.suffix == ".xml":
            ElementTree.fromstring(text)
        elif path.suffix == ".sarif":
            json.loads(text)
    except ValueError as error:
        raise Refuted(f"{path.suffix} cannot be read by others: {error}") from error


def _change_run(chance: Random, directory: RunDirectory, kind: str) -> None:
    journal = directory.journal
    match kind:
        case "bytes":
            journal.write_bytes(mutate_bytes(chance, journal.read_bytes()))
        case "file":
            files = sorted(path for path in directory.path.rglob("*") if path.is_file())
            path = chance.choice(files)
            path.chmod(0o600)
            path.write_bytes(mutate_bytes(chance, path.read_bytes()))
        case "sql":
            _change_row_only(chance, journal)
        case _:
            _rewrite(chance, journal, kind)


def _change_row_only(chance: Random, journal: Path) -> None:
    """Change a stored value so that its sum is wrong."""
    column = chance.choice(("at", "kind", "v", "task", "session", "key", "body", "sum"))
    value = chance.choice((None, 1, -1, 2**62, 1.5, "", b"\xff", b"\x00" * 8, "\u0000", choose_text(chance)))
    if isinstance(value, str):
        value = value.encode("utf-8", "replace").decode()
    try:
        with closing(sqlite3.connect(journal, isolation_level=None)) as connection:
            connection.execute("DROP TRIGGER IF EXISTS event_is_never_changed")
            last = connection.execute("SELECT max(seq) FROM event").fetchone()[0]
            seq = chance.randrange(1, (last or 1) + 1)
            connection.execute(f"UPDATE event SET {column} = ? WHERE seq = ?", (value, seq))
    except sqlite3.Error:
        return


def _rewrite(chance: Random, journal: Path, kind: str) -> None:
    """Write the journal anew, with sums that are right, and one event that is not as it was."""
    try:
        with closing(sqlite3.connect(journal)) as connection:
            rows = connection.execute("SELECT at, kind, v, task, session, key, body FROM event ORDER BY seq").fetchall()
        rows = list(_change_rows(chance, rows, kind))
        encoded = [(seq, *map(_encode_column, row)) for seq, row in enumerate(rows, 1)]
        write_journal_file(journal, encoded)  # type: ignore[arg-type]
    except (sqlite3.Error, JournalProblem, ValueError, TypeError, KeyError, AttributeError):
        return  # changed beyond what can be written anew


def _encode_column(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode()
    return value


def _change_rows(chance: Random, rows: list[tuple[Any, ...]], kind: str) -> Iterator[tuple[Any, ...]]:
    chosen = chance.randrange(len(rows))
    for number, row in enumerate(rows):
        if number != chosen:
            yield row
            if kind == "cut" and number > chosen:
                return
        elif kind == "event":
            body = json.loads(row[-1])
            yield (*row[:-1], encode_json(mutate_document(chance, body)).decode())
        elif kind == "text":
            body = json.loads(row[-1])
            yield (*row[:-1], encode_json(_replace_texts(chance, body)).decode())
        elif kind == "double":
            yield row
            yield row
        elif kind == "cut":
            yield row


def _replace_texts(chance: Random, body: Any) -> Any:
    """Return a body in which many texts of people and models are odd, and all else is as it was."""
    if isinstance(body, dict):
        return {key: _replace_texts(chance, value) for key, value in body.items()}
    if isinstance(body, list):
        return [_replace_texts(chance, value) for value in body]
    if isinstance(body, str) and chance.random() < 0.3:
        return choose_text(chance)[:2_000]
    return body


TARGET = Target("journals", _make_case, _run_case, has_ground=True, wall_s=30)
RESUMED = Target("resumed-journals", _make_resumed, _run_case, has_ground=True, wall_s=60)
