"""The dashboard's knowledge of a run: read in a thread, folded in the dashboard's own, a little at a time.

A watcher decides nothing and writes nothing. Whatever is wrong with a journal is told, and what could be read is shown.
"""

import gc
import time
from collections import deque
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import cache

import anyio

from orchestrator.domain.event import Event, RecordedEvent
from orchestrator.domain.ids import SessionId
from orchestrator.domain.run.state import RunState
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.journal.state.derivation import apply_read_event
from orchestrator.journal.storage.problems import DamagedJournal
from orchestrator.report.log.last_event import SILENT_KINDS, LastSessionEvent, find_last_session_event
from orchestrator.tui.run_feed.journal_tail import RECENT_EVENTS, JournalReset, JournalTail
from orchestrator.tui.run_feed.playback_clock import PlaybackClock
from orchestrator.tui.view_model import Connection, ViewModel


class LastSessionEvents(Mapping[SessionId, LastSessionEvent]):
    """By conversation, its last event. It costs as good as nothing to add one that nobody looks at."""

    def __init__(self) -> None:
        self._events: dict[SessionId, tuple[RecordedEvent, ...]] = {}
        self._descriptions: dict[SessionId, tuple[int, LastSessionEvent]] = {}

    def record_event(self, recorded: RecordedEvent) -> None:
        """Record an event, if it is one of a conversation."""
        event = recorded.event
        if not _has_session(type(event)):
            return
        session: SessionId = event.session  # type: ignore[attr-defined]
        before = self._events.get(session, ()) if event.kind in SILENT_KINDS else ()
        self._events[session] = (*before[:1], recorded)

    def __getitem__(self, session: SessionId) -> LastSessionEvent:
        events = self._events[session]
        known = self._descriptions.get(session)
        if known is None or known[0] != events[-1].seq:
            last_event = find_last_session_event(events)
            assert last_event is not None
            known = self._descriptions[session] = (events[-1].seq, last_event)
        return known[1]

    def __iter__(self) -> Iterator[SessionId]:
        return iter(self._events)

    def __len__(self) -> int:
        return len(self._events)


@cache
def _has_session(kind: type[Event]) -> bool:
    return "session" in kind.model_fields


__all__ = ["PlaybackClock", "RunFeed", "relax_garbage_collector"]

_SLICE_S = 0.008
_BETWEEN_S = 0.002
_IDLE_S = 0.05
_LOOK_AT_CLOCK = 16
_THRESHOLDS = (50_000, 20, 50)
_STALE_S = 5.0
"""An engine gives a sign of life every second."""


def relax_garbage_collector() -> None:
    """Let the garbage collector run more seldom, for a process that does nothing but watch.

    Events are made by the ten thousand and die young, without cycles; looking for those costs as much as parsing.
    """
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)


class RunFeed:
    """A source of moments. All of it is called in the dashboard's thread; nothing else ever reads the state.

    `fold_until_closed` has to run beside the dashboard, or `fold_waiting_events` has to be called now and then.
    """

    def __init__(
        self, directory: RunDirectory, *, replay: PlaybackClock | None = None, is_read_only: bool = False
    ) -> None:
        self.directory = directory
        self.replay = replay
        self._is_read_only = is_read_only
        self._tail = JournalTail(directory, from_start=replay is not None)
        self._state = RunState()
        self._latest = LastSessionEvents()
        self._recent: deque[RecordedEvent] = deque(maxlen=RECENT_EVENTS)
        self._waiting: deque[RecordedEvent] = deque()
        self._problem = ""

    def start(self) -> None:
        """Start to read."""
        self._tail.start_reading()

    def close(self) -> None:
        """Stop reading."""
        self._tail.stop_reading()

    async def fold_until_closed(self) -> None:
        """Fold what is read, in slices of a few milliseconds, until the feed is closed."""
        while not self._tail.is_closed:  # noqa: ASYNC110 what there is comes from a thread
            await anyio.sleep(_BETWEEN_S if self.fold_waiting_events() else _IDLE_S)

    def fold_waiting_events(self, seconds: float = _SLICE_S) -> bool:
        """Fold waiting events for at most `seconds`; return True if more wait."""
        until = time.perf_counter() + seconds
        for count, recorded in enumerate(self._iterate_due_events(), 1):
            self._fold(recorded)
            if count % _LOOK_AT_CLOCK == 0 and time.perf_counter() > until:
                return True
        return False

    @property
    def problem(self) -> str:
        """The reason why the dashboard cannot know more, and how to mend it; empty if there is none."""
        return self._problem or self._tail.problem

    @property
    def is_caught_up(self) -> bool:
        """True once all that there is at present, or that can be read of it, has been folded."""
        is_read = self._tail.is_at_end or bool(self._tail.problem)
        return is_read and not self._tail.batches and not self._waiting

    def get_view_model(self) -> ViewModel | None:
        """Return the run as far as it is known by now; None before anything is."""
        if self._state.started is None:
            return None
        connection, stale_s = self._get_connection()
        return ViewModel(
            directory=self.directory,
            state=self._state,
            now=self._get_time(),
            connection=connection,
            seq=self._state.seq,
            stale_s=stale_s,
            last_session_events=self._latest,
            recent=self._recent,
            is_read_only=self._is_read_only or self.replay is not None,
            problem=self.problem,
        )

    def _get_connection(self) -> tuple[Connection, float]:
        """Return the connection, and for how many seconds the engine has been silent if that is long."""
        if self.replay is not None:
            return Connection.REPLAY, 0.0
        silence_s = self._tail.engine_silence_s
        if silence_s is None:
            return (Connection.ENDED if self._state.ended else Connection.IDLE), 0.0
        if silence_s > _STALE_S:
            return (Connection.STALE, silence_s)
        return (Connection.LIVE, 0.0)

    def _get_time(self) -> datetime:
        if self.replay is None:
            return datetime.now(UTC)
        if self.is_caught_up and self._state.last_at is not None:
            self.replay.stop_at(self._state.last_at)
        return self.replay.now or datetime.now(UTC)

    def _iterate_due_events(self) -> Iterator[RecordedEvent]:
        """Yield the events that are due."""
        while self._waiting or self._tail.batches:
            if not self._waiting:
                handed = self._tail.batches.popleft()
                if isinstance(handed, JournalReset):
                    self._reset(handed)
                else:
                    self._waiting.extend(handed)
            elif self.replay is None or self.replay.is_due(self._waiting[0].at):
                yield self._waiting.popleft()
            else:
                return

    def _reset(self, fresh: JournalReset) -> None:
        self._state, self._latest, self._problem = fresh.state, LastSessionEvents(), ""
        self._recent.clear()
        self._recent.extend(fresh.recent_events)
        for recorded in (*fresh.quiet_events, *fresh.recent_events):
            self._latest.record_event(recorded)
        if self.replay is not None:
            self.replay.reset_clock()

    def _fold(self, recorded: RecordedEvent) -> None:
        if self._problem:
            return  # what follows an event that cannot have happened means nothing
        try:
            apply_read_event(self.directory.journal, self._state, recorded)
        except DamagedJournal as damage:
            self._problem = f"{self.directory.journal}: {damage.what}; see orchestrate repair"
            return
        self._recent.append(recorded)
        self._latest.record_event(recorded)
