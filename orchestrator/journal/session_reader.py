"""Reading what was said and kept in a run's journal, by processes that do not work on the run."""

from anyio import to_thread

from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.ids import SessionId
from orchestrator.domain.text.blob_text import Text
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.journal.storage.blobs import BlobStore
from orchestrator.journal.storage.event_reader import read_all_events


class JournalSessionReader:
    """A `ports.SessionMemory` over a journal file that is never written to; `events` are all it held when opened."""

    def __init__(self, directory: RunDirectory) -> None:
        """Read the journal. Blocks.

        Raises:
            JournalProblem: it cannot be read.
        """
        self._blobs = BlobStore(directory.blobs)
        self.journal = directory.journal
        self.events = list(read_all_events(self.journal))
        self._sessions: dict[SessionId, list[RecordedEvent]] = {}
        for recorded in self.events:
            if session := getattr(recorded.event, "session", None):
                self._sessions.setdefault(session, []).append(recorded)

    async def list_session_events(self, session: SessionId) -> list[RecordedEvent]:
        """Return all events of one conversation, in order."""
        return self._sessions.get(session, [])

    async def read_text(self, text: Text) -> str:
        """Return the whole of a kept text."""
        if text.sha is None:
            return text.head
        return (await to_thread.run_sync(self._blobs.read_blob, text.sha)).decode("utf-8", "replace")
