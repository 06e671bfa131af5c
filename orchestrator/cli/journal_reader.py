"""Read a run's journal for the verbs that only read; of a damaged one, show what can be read first."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Protocol

from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.run.state import RunState
from orchestrator.errors import JournalProblem, UsageProblem
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.journal.state.derivation import derive_state
from orchestrator.journal.storage.blobs import BlobStore
from orchestrator.journal.storage.event_store import EventStore


@contextmanager
def open_run_journal(directory: RunDirectory) -> Iterator[EventStore]:
    """Open a run's journal, read-only."""
    store = EventStore.open_reader(directory.journal)
    try:
        yield store
    finally:
        store.close()


class JournalLog(Protocol):
    """Something that collects from the events of some kinds."""

    @property
    def KINDS(self) -> Sequence[str]:
        """The kinds."""

    def record_events(self, events: Iterable[RecordedEvent]) -> None:
        """Take in events."""


def fill_log(directory: RunDirectory, log: JournalLog) -> None:
    """Have a log take in a run's events, up to the first that is damaged: `read_state_tolerantly` raises that."""
    with open_run_journal(directory) as store, suppress(JournalProblem):
        log.record_events(store.read_kinds(log.KINDS))


@contextmanager
def read_state_tolerantly(directory: RunDirectory) -> Iterator[RunState]:
    """Return the run's state as far as its journal can be read; raise the damage after the block.

    Raises:
        UsageProblem: it stopped before its first event.
        DamagedJournal: at the end of the block.
    """
    with open_run_journal(directory) as store:
        state, damage, *_ = derive_state(store)
    if state.started is not None:
        yield state
    if damage:
        raise damage.for_partial_view() if state.started else damage
    if state.started is None:
        raise UsageProblem(f"run {directory.run} stopped before its first event: there is nothing to see")


class TolerantBlobs:
    """Blobs for a reader who wants to see the rest when one of them cannot be read."""

    def __init__(self, directory: RunDirectory) -> None:
        self._blobs = BlobStore(directory.blobs)
        self._problem: JournalProblem | None = None

    def get(self, sha: str) -> bytes:
        """Return the content, or words that say that it cannot be read."""
        try:
            return self._blobs.read_blob(sha)
        except JournalProblem as problem:
            self._problem = problem
            return f"[this text cannot be read: {problem}]".encode()

    def raise_problem(self) -> None:
        """Raise the last problem there was.

        Raises:
            JournalProblem: a blob could not be read.
        """
        if self._problem:
            raise self._problem
