"""The journal as the rest of the house sees it: append facts, read the state they fold to, keep long texts."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Protocol

from orchestrator.domain.event import Event, RecordedEvent
from orchestrator.domain.event.run import Noticed
from orchestrator.domain.ids import SessionId, TaskId
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.blob_text import Text
from orchestrator.ports.journal_search import SearchHit


class Clock(Protocol):
    """Time, injected so that replays are equal."""

    def now(self) -> datetime:
        """Return aware UTC."""

    def read_monotonic_s(self) -> float:
        """Return seconds that never run backwards."""


class SessionMemory(Protocol):
    """The memory of conversations, to be read again."""

    async def read_text(self, text: Text) -> str:
        """Return the whole of a kept text."""

    async def list_session_events(self, session: SessionId) -> list[RecordedEvent]:
        """Return all events of one conversation, in order."""


class Ledger(SessionMemory, Protocol):
    """The run's journal and the state it folds to."""

    @property
    def state(self) -> RunState:
        """The fold of everything appended so far; to be read only."""

    async def append(self, *events: Event) -> None:
        """Make the events durable, all or none, and fold them into the state.

        Raises:
            JournalProblem: they could not be written; the state is as before.
        """

    def stage_events(self, *events: Event) -> None:
        """Fold the events into the state and leave it to the next `append` to make them durable with its own.

        For what tells of the past and is soon followed by an `append`, such as that of the next intent: that saves a
        write. Where nothing follows at once, they are durable a moment later by themselves.

        Raises:
            JournalProblem: an earlier write failed; the state is as before.
        """

    async def wait_for_admission(self) -> None:
        """Wait, for a second at most, until few replies are taken up that are not durable yet.

        Whoever has got a reply waits here before it goes on, so that those who came before are done first.
        """

    def build_next_key(self, name: str) -> str:
        """Return the idempotency key for the next try of the effect `name`."""

    async def wait_for_call_stop(self, call: str) -> None:
        """Wait until a person has the call of a tool stopped whose effect has this name."""

    def cancel_at_urgent_words(self, task: TaskId) -> AbstractContextManager[None]:
        """Cancel the block as soon as a person has said something to a task that does not wait."""

    async def repeat_words(self, session: SessionId, turn: int | None, *, is_interruption: bool = False) -> None:
        """In a replay, take down what people had said that was told at this place of a conversation; else do nothing.

        `turn` is the one behind which the words were told, None for the brief; with `is_interruption` they came in the
        place of its reply.
        """

    def redact_text(self, text: str) -> str:
        """Return a text without secrets: as it is kept, and as it is to be shown and sent."""

    def hide_known_secrets(self, text: str) -> str:
        """Return the words of a model without the secrets that are known; what it made up stays, to the letter."""

    async def store_text(self, text: str, *, is_said: bool = False) -> Text:
        """Store a text of any length, redacted, and return how it stands in an event; `is_said` by a model."""

    async def search_events(self, query: str, limit: int) -> list[SearchHit]:
        """Return the newest events of the run in which all words of the query occur, newest first."""

    async def store_bytes(self, content: bytes) -> str:
        """Store a blob and return its sha256."""

    async def read_bytes(self, sha: str) -> bytes:
        """Return the content of a blob.

        Raises:
            JournalProblem: it is missing or its content does not have this sha256.
        """


def is_same_notice(notice: Noticed, other: Noticed) -> bool:
    """Return True if both tell the same, in whatever words.

    OLD JOURNALS: a notice without a code is the same as another one of the same text; where the fold derives the code,
    the text stands for the paths that it does not have.
    """
    if not notice.code or not other.code:
        return notice.text == other.text
    if (notice.code, notice.subject) != (other.code, other.subject):
        return False
    return notice.paths == other.paths or notice.text == other.text


async def record_notice_once(ledger: Ledger, notice: Noticed) -> None:
    """Record a notice that the journal does not hold yet, as after a kill."""
    for known in ledger.state.notices:
        if is_same_notice(known, notice):
            return
    await ledger.append(notice)


async def read_last_output(ledger: Ledger, receipts: Sequence[str]) -> str:
    """Return what the last of these runs of checks printed; empty without one."""
    receipt = ledger.state.receipts.get(receipts[-1]) if receipts else None
    return await ledger.read_text(receipt.output) if receipt else ""
