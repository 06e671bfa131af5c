"""The references of a journal to what lies outside it: blobs, and objects of git that no ref may hold."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orchestrator.domain.event import RecordedEvent, format_event_body
from orchestrator.domain.run.state import RunState
from orchestrator.journal.state.derivation import apply_read_event
from orchestrator.journal.storage.event_store import read_all_events
from worktrees.object_store.object_ids import is_object_id

_SPOKEN = frozenset({"arguments", "tool_calls", "settings", "recipe"})
"""What models and people wrote: a name in there names nothing."""
_TEXT = {"head", "size", "sha"}
_SHA256_CHARS = 64


@dataclass
class JournalReferences:
    """`texts` are blobs that must exist; `others` may be ids of git objects, names of blobs, or neither."""

    required_blobs: set[str] = field(default_factory=set)
    other_ids: set[str] = field(default_factory=set)

    def add_event(self, recorded: RecordedEvent) -> None:
        """Add all names in an event."""
        for key, name in _iterate_names("", json.loads(format_event_body(recorded.event))):
            is_text = key in {"sha", "tests", "trace"} and len(name) == _SHA256_CHARS
            (self.required_blobs if is_text else self.other_ids).add(name)

    @property
    def blobs(self) -> set[str]:
        """The names that can be a blob's."""
        return self.required_blobs | {name for name in self.other_ids if len(name) == _SHA256_CHARS}


@dataclass
class JournalHistory:
    """The facts of a journal that was read once and not kept: the state at its end, and all that is named in it."""

    state: RunState = field(default_factory=RunState)
    references: JournalReferences = field(default_factory=JournalReferences)
    events: int = 0

    @classmethod
    def from_journal(cls, journal: Path) -> "JournalHistory":
        """Return the history that a journal file holds; `events` counts those that stand where they should.

        Raises:
            JournalProblem: it cannot be read, or its events are no history of a run.
        """
        history = cls()
        for recorded in read_all_events(journal):
            apply_read_event(journal, history.state, recorded)
            history.references.add_event(recorded)
            history.events += recorded.seq == history.events + 1
        return history


def _iterate_names(key: str, value: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401
    match value:
        case str() if is_object_id(value):
            yield key, value
        case dict() if value.keys() == _TEXT:
            yield from _iterate_names("sha", value["sha"])
        case dict():
            for inner, content in value.items():
                if inner not in _SPOKEN:
                    yield from _iterate_names(inner, content)
        case list():
            for content in value:
                yield from _iterate_names(key, content)
