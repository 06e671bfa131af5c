"""The state that a journal file folds to, from its snapshot if it has one that fits, else from its first event."""

from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from orchestrator.domain.event import Recorded
from orchestrator.domain.fold import advance
from orchestrator.domain.state import RunState
from orchestrator.journal import snapshot
from orchestrator.journal.problems import Damaged, UnusableEvent
from orchestrator.journal.reader import Reader


class Derived(NamedTuple):
    """A state, and what kept it from going further: None when it is that of the whole journal.

    Events up to `unread` were not looked at, because a snapshot stood for them.
    """

    state: RunState
    damage: Damaged | None = None
    unread: int = 0


def derive(reader: Reader) -> Derived:
    """The state as far as the journal can be read.

    Raises:
        JournalProblem: it cannot be used at all, or holds events of a newer program.
    """
    state = begun(reader)
    unread = state.seq
    try:
        for recorded in reader.read(after=unread):
            advance_read(reader.path, state, recorded)
    except Damaged as damage:
        return Derived(state, damage, unread)
    return Derived(state, None, unread)


def begun(reader: Reader) -> RunState:
    """The state that the snapshot beside a journal stands for, if it is one of this journal; else an empty one.

    Raises:
        JournalProblem: the journal cannot be used at all.
    """
    kept = snapshot.load(reader.path.parent)
    return kept[0] if kept and reader.holds(kept[0].seq, kept[1]) else RunState()


def derive_whole(reader: Reader) -> Derived:
    """The state of the whole journal.

    Raises:
        Damaged: the journal cannot be read to its end.
        JournalProblem: it cannot be used at all, or holds events of a newer program.
    """
    derived = derive(reader)
    if derived.damage:
        raise derived.damage
    return derived


def read_state(journal: Path) -> RunState:
    """The state of a journal file.

    Raises:
        JournalProblem: it cannot be read to its end.
    """
    with closing(Reader.open_reader(journal)) as reader:
        return derive_whole(reader).state


def advance_read(path: Path, state: RunState, recorded: Recorded) -> None:
    """Apply an event that was read from a journal to a state that the caller owns.

    Raises:
        Damaged: it cannot have happened after those before it.
    """
    try:
        advance(state, recorded)
    except (ValueError, KeyError) as error:
        what = f"event {recorded.seq} cannot have happened after those before it ({error})"
        raise UnusableEvent(path, recorded.seq - 1, what) from error
