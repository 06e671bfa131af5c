"""Reading a conversation from a journal for a screen: its end first, the rest behind it, what comes as it comes."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

from orchestrator.domain.event import Recorded
from orchestrator.domain.ids import SessionId
from orchestrator.errors import JournalProblem
from orchestrator.journal.blobs import Blobs
from orchestrator.journal.reader import Reader
from orchestrator.journal.runs import RunDirectory
from orchestrator.report.transcript import Transcript
from orchestrator.report.transcript_items import Level

ENDING = 2_000
"""How many events are read before anything is shown."""


def tolerant(directory: RunDirectory) -> Callable[[str], bytes]:
    """Gives blobs; words in place of one that cannot be read."""
    blobs = Blobs(directory.blobs)

    def get(sha: str) -> bytes:
        try:
            return blobs.get(sha)
        except JournalProblem as problem:
            return f"[this text cannot be read: {problem}]".encode()

    return get


@dataclass(frozen=True)
class Conversation:
    """One conversation of a run. Everything here blocks: it is for threads."""

    directory: RunDirectory
    session: SessionId
    is_ascii: bool = False

    def ending(self, until: int, level: Level, last: int = ENDING) -> tuple[Transcript, bool]:
        """Its last events up to a seq as a transcript, and whether that is all of it.

        Raises:
            JournalProblem: the journal cannot be read.
        """
        events = self._read(until=until, last=last)
        return self._transcript(events, level), len(events) < last

    def whole(self, until: int, level: Level) -> Transcript:
        """All of it up to a seq; raises as `ending` does."""
        return self._transcript(self._read(until=until), level)

    def since(self, after: int, until: int) -> list[Recorded]:
        """What came after a seq, up to another one; raises as `ending` does."""
        return self._read(after=after, until=until)

    def _read(self, **within: int) -> list[Recorded]:
        with closing(Reader.open_reader(self.directory.journal)) as reader:
            return reader.part(self.session, **within)

    def _transcript(self, events: list[Recorded], level: Level) -> Transcript:
        transcript = Transcript(tolerant(self.directory), level, is_ascii=self.is_ascii)
        transcript.extend(events)
        return transcript
