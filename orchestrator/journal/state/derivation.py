"""The state that a journal file folds to, from its snapshot if it has one that fits, else from its first event."""

from pathlib import Path
from typing import NamedTuple

from orchestrator.collector_pause import pause_collector
from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.fold.event_order import require_possible
from orchestrator.domain.fold.projection import apply_recorded_event
from orchestrator.domain.run.state import RunState
from orchestrator.journal.state import snapshot
from orchestrator.journal.storage.event_reader import EventReader
from orchestrator.journal.storage.problems import DamagedJournal, UnusableJournalEvent


class DerivedState(NamedTuple):
    """A state, and what kept it from going further: None when it is that of the whole journal.

    Events up to `unread` were not looked at, because a snapshot stood for them. `total` is the sum of the last event of
    a state that is to be gone on from.
    """

    state: RunState
    damage: DamagedJournal | None = None
    unread: int = 0
    total: bytes = b""


@pause_collector()
def derive_state(reader: EventReader, known: DerivedState | None = None) -> DerivedState:
    """Return the state as far as the journal can be read; one that is `known` goes on in place, if it is of its events.

    Raises:
        JournalProblem: it cannot be used at all, or holds events of a newer program.
    """
    if known is not None and known.total and reader.has_event(known.state.seq, known.total):
        state, unread = known.state, known.unread
    else:
        state = load_base_state(reader)
        unread = state.seq
    try:
        for recorded in reader.read_events(after=state.seq):
            apply_read_event(reader.path, state, recorded)
    except DamagedJournal as damage:
        return DerivedState(state, damage, unread)
    return DerivedState(state, None, unread)


@pause_collector()
def load_base_state(reader: EventReader) -> RunState:
    """Return the state that the snapshot beside a journal stands for, if it is one of this journal; else an empty one.

    Raises:
        JournalProblem: the journal cannot be used at all.
    """
    kept = snapshot.load_snapshot(reader.path.parent)
    return kept[0] if kept and reader.has_event(kept[0].seq, kept[1]) else RunState()


def derive_whole_state(reader: EventReader, known: DerivedState | None = None) -> DerivedState:
    """Return the state of the whole journal, see `derive_state`.

    Raises:
        Damaged: the journal cannot be read to its end.
        JournalProblem: it cannot be used at all, or holds events of a newer program.
    """
    derived = derive_state(reader, known)
    if derived.damage:
        raise derived.damage
    return derived._replace(total=reader.find_sum(derived.state.seq, derived.state.last_at))


def read_state(journal: Path) -> RunState:
    """Return the state of a journal file.

    Raises:
        JournalProblem: it cannot be read to its end.
    """
    return read_whole_state(journal).state


def read_whole_state(journal: Path) -> DerivedState:
    """Return the state of a journal file so that it can be gone on from.

    Raises:
        JournalProblem: it cannot be read to its end.
    """
    with EventReader.open_reader(journal) as reader:
        return derive_whole_state(reader)


def apply_read_event(path: Path, state: RunState, recorded: RecordedEvent) -> None:
    """Apply an event that was read from a journal to a state that the caller owns.

    Raises:
        Damaged: it cannot have happened after those before it.
    """
    try:
        require_possible(state, recorded)
        apply_recorded_event(state, recorded)
    except (ValueError, KeyError, OverflowError) as error:
        what = f"event {recorded.seq} cannot have happened after those before it ({error})"
        raise UnusableJournalEvent(path, recorded.seq - 1, what) from error
