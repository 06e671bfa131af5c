"""The events of a run for a view that needs all of them: the newest come with each moment, older ones from the journal.

The journal is read in a thread, and nothing of the run's state is looked at there.
"""

from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Generic, TypeVar

from anyio import to_thread

from orchestrator.domain.event import RecordedEvent
from orchestrator.errors import JournalProblem
from orchestrator.journal.storage.event_reader import EventReader
from orchestrator.tui.view_model import ViewModel

T = TypeVar("T")
BLOCK_EVENTS = 5_000
"""So many events are read before anything is done with them."""


class EventBackfill(Generic[T]):
    """The results of a function for every event, each once and in order.

    `seq` is the last event that was given out. `kinds` are those that are read from the journal, all if empty; of
    moments, others are given as well.
    """

    def __init__(self, make: Callable[[RecordedEvent], T], kinds: Sequence[str] = (), *, after: int = 0) -> None:
        self.seq = after
        self.problem = ""
        self._make, self._kinds = make, kinds
        self.is_reading = False
        """True while a view reads the journal with it."""

    def take_newest(self, view_model: ViewModel) -> list[T] | None:
        """Return what is new; None where the view model does not reach back to what is known."""
        recent = view_model.recent
        if self.seq >= view_model.seq:
            return []
        if not recent or recent[0].seq > self.seq + 1 or recent[-1].seq < view_model.seq:
            return None
        first = recent[0].seq
        if recent[-1].seq - first + 1 != len(recent):
            return None
        new = islice(recent, self.seq + 1 - first, view_model.seq + 1 - first)  # it may be a deque
        self.seq = view_model.seq
        return list(map(self._make, new))

    async def read_block(self, journal: Path, until: int) -> list[T]:
        """The next block up to an event, from the journal. A journal that cannot be read any further is told of in
        `problem`, and what is missing is not asked for again.
        """
        made, self.seq, problem = await to_thread.run_sync(self._read, journal, self.seq, until, abandon_on_cancel=True)
        self.problem = problem or self.problem
        return made

    def _read(self, journal: Path, after: int, until: int) -> tuple[list[T], int, str]:
        made: list[T] = []
        try:
            with EventReader.open_reader(journal) as reader:
                for recorded in reader.read_kinds(self._kinds, after) if self._kinds else reader.read_events(after):
                    if recorded.seq > until:
                        break
                    made.append(self._make(recorded))
                    if len(made) >= BLOCK_EVENTS:
                        return made, recorded.seq, ""
        except JournalProblem as problem:
            return made, until, str(problem)
        return made, until, ""
