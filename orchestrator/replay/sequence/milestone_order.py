"""The recorded order: who has to wait until something else has happened, and when waiting is in vain."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import anyio

from orchestrator.errors import OrchestrateError


class ReplayStopped(OrchestrateError):
    """The replay cannot go on: `missing` should come next, and all that is left to do is `asked`, out of order.

    `missing` is None when everything that was recorded has happened: the recording itself ends here.
    """

    def __init__(self, missing: str | None, asked: Sequence[str]) -> None:
        self.missing = missing
        self.out_of_order = tuple(sorted(asked))
        wanted = f"the recording goes on with {missing}" if missing else "the recording ends here"
        super().__init__(f"{wanted}; the replay with {', '.join(self.out_of_order) or 'nothing'}")


@dataclass
class _Waiter:
    name: str
    place: int
    called: anyio.Event = field(default_factory=anyio.Event)


class MilestoneOrder:
    """Milestones in their recorded order, and how far a replay has come in it.

    Whoever makes a milestone happen waits for its turn, which comes when all before it have happened. When everybody
    who is at work waits, nothing more can happen, and all of them are told so.
    """

    def __init__(self, names: Sequence[str], superseded: Mapping[str, frozenset[str]] | None = None) -> None:
        """Set up; `superseded` names milestones that need not come any more once certain others have happened."""
        self._names = tuple(names)
        self._places = {name: place for place, name in enumerate(self._names)}
        self._superseded = dict(superseded or {})
        self._happened: set[str] = set()
        self._next = 0
        self._waiting: list[_Waiter] = []
        self._busy: int | None = None
        self._stopped: ReplayStopped | None = None

    @property
    def next_milestone(self) -> str | None:
        """The milestone that comes next in the recording; None when everything has happened."""
        if self._next < len(self._names):
            return self._names[self._next]
        return None

    def has_happened(self, name: str) -> bool:
        """Return True if a milestone has happened, or need not come any more."""
        others = self._superseded.get(name)
        return name in self._happened or (others is not None and others <= self._happened)

    def comes_after(self, name: str, other: str) -> bool:
        """Return True if both are in the recording, and `name` after the other."""
        first, second = self._places.get(other), self._places.get(name)
        return first is not None and second is not None and first < second

    async def wait_for_turn(self, name: str) -> None:
        """Wait until everything has happened that was recorded before this.

        Raises:
            ReplayStopped: that cannot come, or this itself was never recorded.
        """
        place = self._places.get(name, len(self._names) + 1)
        if place <= self._next and not self._stopped:
            return
        waiter = _Waiter(name, place)
        self._waiting.append(waiter)
        self._check_stuck()
        try:
            if not self._stopped:
                await waiter.called.wait()
        finally:
            if waiter in self._waiting:
                self._waiting.remove(waiter)
        if self._stopped:
            raise self._stopped

    def record_milestone(self, name: str) -> None:
        """Take down that a milestone has happened, and call whose turn it is now."""
        self._happened.add(name)
        while self._next < len(self._names) and self.has_happened(self._names[self._next]):
            self._next += 1
        for waiter in [one for one in self._waiting if one.place <= self._next]:
            self._waiting.remove(waiter)
            waiter.called.set()

    def set_busy_count(self, busy: int | None) -> None:
        """Set how many are at work, each waiting for at most one turn; None while that is just changing."""
        self._busy = busy
        self._check_stuck()

    def _check_stuck(self) -> None:
        if self._busy is None or not self._waiting or len(self._waiting) < self._busy:
            return
        self._stopped = self._stopped or ReplayStopped(self.next_milestone, [waiter.name for waiter in self._waiting])
        for waiter in self._waiting:
            waiter.called.set()
