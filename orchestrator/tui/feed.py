"""The dashboard's knowledge of a run: read in a thread, folded in the dashboard's own, a little at a time.

A watcher decides nothing and writes nothing. Whatever is wrong with a journal is told, and what could be read is shown.
"""

import gc
import time
from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime

import anyio

from orchestrator.domain.event import Recorded
from orchestrator.domain.fold import advance
from orchestrator.domain.state import RunState
from orchestrator.journal.runs import RunDirectory
from orchestrator.tui.latest import Latest
from orchestrator.tui.moment import Connection, Moment
from orchestrator.tui.recording import Recording
from orchestrator.tui.tail import RECENT, Fresh, Tail

__all__ = ["Feed", "Recording", "spare_collector"]

_SLICE_S = 0.008
_BETWEEN_S = 0.002
_IDLE_S = 0.05
_LOOK_AT_CLOCK = 16
_THRESHOLDS = (50_000, 20, 50)
_STALE_S = 5.0
"""An engine gives a sign of life every second."""


def spare_collector() -> None:
    """Let the garbage collector run more seldom, for a process that does nothing but watch.

    Events are made by the ten thousand and die young, without cycles; looking for those costs as much as parsing.
    """
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)


class Feed:
    """A source of moments. All of it is called in the dashboard's thread; nothing else ever reads the state.

    `keep_up` has to run beside the dashboard, or `take` has to be called now and then.
    """

    def __init__(self, directory: RunDirectory, *, replay: Recording | None = None, is_read_only: bool = False) -> None:
        self.directory = directory
        self.replay = replay
        self._is_read_only = is_read_only
        self._tail = Tail(directory, from_start=replay is not None)
        self._state = RunState()
        self._latest = Latest()
        self._recent: deque[Recorded] = deque(maxlen=RECENT)
        self._waiting: deque[Recorded] = deque()
        self._problem = ""

    def start(self) -> None:
        """Begin to read."""
        self._tail.start()

    def close(self) -> None:
        """Read no more."""
        self._tail.close()

    async def keep_up(self) -> None:
        """Take in what is read, in slices of a few milliseconds, until the feed is closed."""
        while not self._tail.is_closed:  # noqa: ASYNC110 what there is comes from a thread
            await anyio.sleep(_BETWEEN_S if self.take() else _IDLE_S)

    def take(self, seconds: float = _SLICE_S) -> bool:
        """Fold what is there for at most so long; true if more waits."""
        until = time.perf_counter() + seconds
        for count, recorded in enumerate(self._due(), 1):
            self._fold(recorded)
            if count % _LOOK_AT_CLOCK == 0 and time.perf_counter() > until:
                return True
        return False

    @property
    def problem(self) -> str:
        """What keeps the dashboard from knowing more, and how to mend it; empty if nothing does."""
        return self._problem or self._tail.problem

    @property
    def is_over(self) -> bool:
        """Whether all that there is at present, or that can be read of it, has been taken in."""
        is_read = self._tail.is_at_end or bool(self._tail.problem)
        return is_read and not self._tail.batches and not self._waiting

    def look(self) -> Moment | None:
        """The run as far as it is known by now; None before anything is."""
        if self._state.started is None:
            return None
        connection, stale_s = self._connection()
        return Moment(
            directory=self.directory,
            state=self._state,
            now=self._now(),
            connection=connection,
            seq=self._state.seq,
            stale_s=stale_s,
            seen=self._latest,
            recent=self._recent,
            is_read_only=self._is_read_only or self.replay is not None,
            problem=self.problem,
        )

    def _connection(self) -> tuple[Connection, float]:
        """Where things come from, and for how many seconds the engine has been silent if that is long."""
        if self.replay is not None:
            return Connection.REPLAY, 0.0
        silence_s = self._tail.silence_s
        if silence_s is None:
            return (Connection.ENDED if self._state.ended else Connection.IDLE), 0.0
        return (Connection.STALE, silence_s) if silence_s > _STALE_S else (Connection.LIVE, 0.0)

    def _now(self) -> datetime:
        if self.replay is None:
            return datetime.now(UTC)
        if self.is_over and self._state.last_at is not None:
            self.replay.stand(self._state.last_at)
        return self.replay.now or datetime.now(UTC)

    def _due(self) -> Iterator[Recorded]:
        """Events to take in, as long as there are any whose time has come."""
        while self._waiting or self._tail.batches:
            if not self._waiting:
                handed = self._tail.batches.popleft()
                if isinstance(handed, Fresh):
                    self._begin(handed)
                else:
                    self._waiting.extend(handed)
            elif self.replay is None or self.replay.is_due(self._waiting[0].at):
                yield self._waiting.popleft()
            else:
                return

    def _begin(self, fresh: Fresh) -> None:
        self._state, self._latest, self._problem = fresh.state, Latest(), ""
        self._recent.clear()
        self._recent.extend(fresh.earlier)
        for recorded in (*fresh.quiet, *fresh.earlier):
            self._latest.hear(recorded)
        if self.replay is not None:
            self.replay.rewind()

    def _fold(self, recorded: Recorded) -> None:
        if self._problem:
            return  # what follows an event that cannot have happened means nothing
        try:
            advance(self._state, recorded)
        except (ValueError, KeyError) as error:
            what = f"event {recorded.seq} cannot have happened after those before it ({error})"
            self._problem = f"{self.directory.journal}: {what}; see orchestrate repair"
            return
        self._recent.append(recorded)
        self._latest.hear(recorded)
