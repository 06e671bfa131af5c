"""Recorded runs in which every word that a model, a tool or a repository chose is an attack on the terminal."""

import json
import unicodedata
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from orchestrator.domain.event import Event, RecordedEvent, parse_event
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.journal.storage.event_store import EventStore
from tests.golden import DATA

ATTACK = (
    "\x1b]52;c;ZXZpbA==\x07\x1b]8;;http://evil.example\x1b\\\x1b[2J\x9b31m\x00\r\x07\u202etxt\u2066\u200b\u200d\ufeff\u00ad"
    "\U0001f469\u200d\U0001f4bb\ufe0f漢字e\u0301\u0301[bold][/bold][@click=app.quit]x[/][red]\\["
)
"""Escape sequences (clipboard, link, clear), bidirectional and invisible characters, wide ones, markup."""
_WORDS = {
    *("acceptance", "believed", "branch", "claim", "decisions", "detail", "done", "evidence", "feedback", "goal"),
    *("head", "host", "model", "new_failures", "purpose", "rationale", "reason", "reasons", "signature", "summary"),
    *("text", "title"),
}
_PLACES = {"shop/": f"shop{ATTACK[:80].replace('/', '')}/"}


def hostile_journal(path: Path, name: str, *more: Event) -> RunDirectory:
    """The recorded run `goal.v2` or `migration.v1` under attack, in a directory that becomes the run's."""
    path.mkdir(parents=True)
    store = EventStore.open_writer(path / "journal.db")
    try:
        store.claim_writer()
        events = list(hostile_events(name))
        last = events[-1]
        events += [RecordedEvent(last.seq + n, last.at, event) for n, event in enumerate(more, start=1)]
        store.insert_events(events)
    finally:
        store.close()
    return RunDirectory(path)


def dangers(text: str) -> set[str]:
    """What in a text a terminal might act on, or might hide or turn round."""
    return {char for char in text if unicodedata.category(char) in {"Cc", "Cf", "Cs"}}


@cache
def hostile_events(name: str) -> tuple[RecordedEvent, ...]:
    """The events of a recorded run under attack."""
    rows = [json.loads(line) for line in (DATA / "journals" / f"{name}.jsonl").read_text().splitlines()]
    return tuple(
        RecordedEvent(seq, datetime.fromisoformat(at), parse_event(kind, version, json.dumps(_spoiled(body))))
        for seq, at, kind, version, body, *_ in rows
    )


def _spoiled(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return {_placed(name): _spoiled(one, name) for name, one in value.items()}
    if isinstance(value, list):
        return [_spoiled(one, key) for one in value]
    if not isinstance(value, str):
        return value
    return ATTACK + _placed(value) if key in _WORDS and value and len(value) != 40 else _placed(value)


def _placed(text: str) -> str:
    for before, after in _PLACES.items():
        text = text.replace(before, after)
    return text
