"""What a journal names outside itself: blobs, and objects of git that no ref may hold."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from orchestrator.domain.event import Recorded, to_body
from orchestrator.domain.fold import advance
from orchestrator.domain.state import RunState
from worktrees.packs import OID

_SPOKEN = frozenset({"arguments", "tool_calls", "settings", "recipe"})
"""What models and people wrote: a name in there names nothing."""
_TEXT = {"head", "size", "sha"}
_SHA256_CHARS = 64


@dataclass
class Named:
    """`texts` are blobs that must exist; `others` may be ids of git objects, names of blobs, or neither."""

    texts: set[str] = field(default_factory=set)
    others: set[str] = field(default_factory=set)

    def add(self, recorded: Recorded) -> None:
        """All names in an event."""
        for key, name in _names("", json.loads(to_body(recorded.event))):
            is_text = key in {"sha", "tests"} and len(name) == _SHA256_CHARS
            (self.texts if is_text else self.others).add(name)

    @property
    def blobs(self) -> set[str]:
        """What can be a blob."""
        return self.texts | {name for name in self.others if len(name) == _SHA256_CHARS}


@dataclass
class History:
    """What a journal says, read once and not kept: the state at its end, and all that is named in it."""

    state: RunState = field(default_factory=RunState)
    named: Named = field(default_factory=Named)
    events: int = 0

    @classmethod
    def of(cls, events: Iterable[Recorded]) -> "History":
        """The history that these events make; `events` counts those that stand where they should.

        Raises:
            IllegalMove, ValueError, KeyError: they are no history of a run.
        """
        history = cls()
        for recorded in events:
            advance(history.state, recorded)
            history.named.add(recorded)
            history.events += recorded.seq == history.events + 1
        return history


def _names(key: str, value: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401
    match value:
        case str() if OID.fullmatch(value):
            yield key, value
        case dict() if value.keys() == _TEXT:
            yield from _names("sha", value["sha"])
        case dict():
            for inner, content in value.items():
                if inner not in _SPOKEN:
                    yield from _names(inner, content)
        case list():
            for content in value:
                yield from _names(key, content)
