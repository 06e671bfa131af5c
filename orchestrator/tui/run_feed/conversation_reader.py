"""Reading a conversation from a journal for a screen: its end first, the rest behind it, what comes as it comes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.ids import SessionId
from orchestrator.errors import JournalProblem
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.journal.storage.blobs import BlobStore
from orchestrator.journal.storage.event_reader import EventReader
from orchestrator.tui.rows.transcript import Transcript
from orchestrator.tui.rows.transcript_items import TranscriptLevel

FIRST_READ_EVENTS = 2_000
"""Events that are read before anything is shown."""


def build_blob_reader(directory: RunDirectory) -> Callable[[str], bytes]:
    """Return a reader of blobs; it gives words in place of one that cannot be read."""
    blobs = BlobStore(directory.blobs)

    def read_blob(sha: str) -> bytes:
        try:
            return blobs.read_blob(sha)
        except JournalProblem as problem:
            return f"[this text cannot be read: {problem}]".encode()

    return read_blob


def read_kinds_into(log: Any, directory: RunDirectory) -> None:  # noqa: ANN401
    """Have a log record all events of its `KINDS`.

    Raises:
        JournalProblem: the journal cannot be read.
    """
    with EventReader.open_reader(directory.journal) as reader:
        log.record_events(reader.read_kinds(log.KINDS))


@dataclass(frozen=True)
class ConversationReader:
    """One conversation of a run. Everything here blocks: it is for threads."""

    directory: RunDirectory
    session: SessionId
    is_ascii: bool = False

    def read_end(self, until: int, level: TranscriptLevel, last: int = FIRST_READ_EVENTS) -> tuple[Transcript, bool]:
        """Read the last events up to a seq as a transcript; return also whether that is all of it.

        Raises:
            JournalProblem: the journal cannot be read.
        """
        events = self._read(until=until, last=last)
        return self._transcript(events, level), len(events) < last

    def read_all(self, until: int, level: TranscriptLevel) -> Transcript:
        """Read all events up to a seq; raises as `read_end` does."""
        return self._transcript(self._read(until=until), level)

    def read_since(self, after: int, until: int) -> list[RecordedEvent]:
        """Read the events after a seq, up to another one; raises as `read_end` does."""
        return self._read(after=after, until=until)

    def _read(self, **within: int) -> list[RecordedEvent]:
        with EventReader.open_reader(self.directory.journal) as reader:
            return reader.read_session_part(self.session, **within)

    def _transcript(self, events: list[RecordedEvent], level: TranscriptLevel) -> Transcript:
        transcript = Transcript(build_blob_reader(self.directory), level, is_ascii=self.is_ascii)
        transcript.extend(events)
        return transcript
