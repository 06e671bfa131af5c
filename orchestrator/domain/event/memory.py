"""Events of memory: what a run is told of earlier ones, what its agents propose, and what becomes of that."""

from orchestrator.domain.event.base import Event
from orchestrator.domain.ids import CommitId
from orchestrator.domain.memory.entry import EntryRetirement, GuideEntry, GuideProposal, NoteKind


class GuideRead(Event, kind="memory.read"):
    """The field guide as this run begins with it; `retired` are entries that ended because nothing holds them up."""

    entries: tuple[GuideEntry, ...]
    retired: tuple[EntryRetirement, ...] = ()


class EntriesProposed(Event, kind="memory.proposed"):
    """The report of an attempt, or of a planner's round, proposes entries; some are refused by rule."""

    number: int
    proposals: tuple[GuideProposal, ...]
    used: tuple[str, ...] = ()


class GuideChanged(Event, kind="memory.changed"):
    """The changes to the field guide that this run stands for now: they take the place of those told before.

    `head` is the last commit that had landed then.
    """

    added: tuple[GuideEntry, ...] = ()
    retired: tuple[EntryRetirement, ...] = ()
    used: tuple[str, ...] = ()
    head: CommitId | None = None


class NoteTaken(Event, kind="memory.noted"):
    """An agent left a note for the later conversations of the run."""

    note: NoteKind
    text: str
