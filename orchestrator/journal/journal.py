"""The live journal of the one process that works on a run: durable appends with group commit, and their fold."""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic, perf_counter

import anyio
from anyio import to_thread

from orchestrator.crash import crash_point
from orchestrator.domain.commands.person_words import has_urgent_words
from orchestrator.domain.event import Event, RecordedEvent
from orchestrator.domain.event.people import CommandTaken
from orchestrator.domain.event.run import ClockJumped, RunEnded, RunPaused
from orchestrator.domain.fold.projection import apply_recorded_event
from orchestrator.domain.ids import SessionId, TaskId, build_effect_key
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.blob_text import INLINE_CHARS, Text
from orchestrator.domain.text.encoding import make_encodable
from orchestrator.errors import BlobLost, JournalProblem, OrchestrateError, RunLocked
from orchestrator.journal.admission import AdmissionControl
from orchestrator.journal.event_redaction import escape_surrogates, redact_event
from orchestrator.journal.full_text.search import search_events
from orchestrator.journal.state.derivation import DerivedState, derive_whole_state
from orchestrator.journal.storage.blobs import BlobStore
from orchestrator.journal.storage.event_store import EventStore
from orchestrator.ports.background_tasks import run_background_tasks
from orchestrator.ports.journal_search import SearchHit
from orchestrator.ports.ledger import Clock
from orchestrator.redact.redactor import PATTERN_REDACTOR, Redactor
from worktrees.safety.private_directory import create_private_directory

EventListener = Callable[[RecordedEvent], None]
StateProjector = Callable[[RunState], str]
_PROJECT_EVERY_S = 1.0
_REST = 60.0
"""So many times as long as they took are projections not made again: of very many files they take long."""
_JUMP_S = 5.0
"""A wall clock that differs by more from the time that passed was set, or the machine slept."""
_STAGED_S = 0.01
"""So long staged events wait for an `append` that makes them durable with its own."""
_LONG_CHARS = 100_000
"""A text that is redacted beside the event loop: some milliseconds' worth."""


class SystemClock:
    """The clock of this machine."""

    def now(self) -> datetime:
        """Return the time, aware UTC."""
        return datetime.now(UTC)

    def read_monotonic_s(self) -> float:
        """Return seconds that never run backwards."""
        return monotonic()


class Journal:
    """A `ports.Ledger` over a journal file and its blobs.

    Events get their place and are folded at once, in the order of the calls; `append` returns when they are durable.
    Whoever waits first writes for all who wait (group commit). After a failed write nothing more can be appended,
    so no effect can follow an intent that was not recorded.

    Nothing that `redactor` finds is folded, written or told to anybody. It is put in when the run's settings are known.
    `known` is a state that this process has read of the journal before, and leaves to it: only what follows is read.
    """

    def __init__(
        self,
        directory: Path,
        clock: Clock,
        redactor: Redactor = PATTERN_REDACTOR,
        known: DerivedState | None = None,
    ) -> None:
        create_private_directory(directory)
        self._store = EventStore.open_writer(directory / "journal.db")
        self.epoch = self._store.claim_writer()
        """The number of processes that have claimed this journal, with this one; only the last of them can append."""
        self._blobs = BlobStore(directory / "blobs")
        self.directory = directory
        self.redactor = redactor
        self._clock = clock
        self._ahead_s = self._clock_ahead_s()
        derived = derive_whole_state(self._store, known)
        self.state: RunState = derived.state
        """The fold of everything appended so far; to be read only."""
        self.unread = derived.unread
        """Events up to this one were not looked at when the journal was opened."""
        self._pending: list[RecordedEvent] = []
        self._durable = self.state.seq
        self._turn = anyio.Lock(fast_acquire=True)
        self._writer_thread = anyio.CapacityLimiter(1)
        """A thread for commits alone: others may all be waiting for locks of other processes."""
        self._search_turn = anyio.Lock()
        self._failure: OrchestrateError | None = None
        self._project_at = float("-inf")
        if self.state.seq:  # whoever waits for an engine that goes on waits for its first action, not for this
            self._project_at = clock.read_monotonic_s() + _PROJECT_EVERY_S
        self._stopping = anyio.Event()
        self._interruptible: dict[anyio.CancelScope, TaskId] = {}
        self._staged = anyio.Event()
        self._admission = AdmissionControl()
        self.listeners: list[EventListener] = []
        self.projections: dict[str, StateProjector] = {}
        """What to derive for readers, by name: written with the events, now and then and when the run stops."""

    def refuse_appends(self, problem: JournalProblem) -> None:
        """Let nothing more be appended; from any thread."""
        self._failure = self._failure or problem

    def read_clock(self) -> datetime:
        """Return the time by the journal's clock, aware UTC."""
        return self._clock.now()

    def build_next_key(self, name: str) -> str:
        """Return the idempotency key for the next try of the effect `name`."""
        return build_effect_key(name, self.state.effect_tries[name])

    async def append(self, *events: Event) -> None:
        """Make the events durable, all or none, and fold them into the state.

        Raises:
            Replaced: another process has taken the run over since.
            JournalProblem: they could not be written.
        """
        self._place_all(events)
        last = self.state.seq
        with anyio.CancelScope(shield=True):
            async with self._turn:
                if self._durable < last and not self._failure:
                    await self._commit()
        if self._failure:
            raise self._failure

    def stage_events(self, *events: Event) -> None:
        """Fold the events now; the next `append` makes them durable with its own, or `flush_staged_events` soon.

        Raises:
            Replaced: another process has taken the run over since.
            JournalProblem: an earlier write failed.
        """
        self._place_all(events)
        self._staged.set()

    async def wait_for_admission(self) -> None:
        """Wait until few replies are taken up that are not durable yet; a second at most."""
        await self._admission.wait_for_admission()

    async def flush_staged_events(self) -> None:
        """Make staged events durable that no `append` has taken along at once, for as long as this is awaited."""
        while not self._failure:
            await self._staged.wait()
            await anyio.sleep(_STAGED_S)
            self._staged = anyio.Event()
            with suppress(JournalProblem, RunLocked):  # whoever appends next is told
                await self.append()

    async def record_clock_jump(self) -> None:
        """Record it if the wall clock was set, or the machine slept, since the last event.

        Every event that is appended is preceded by that, so that no duration ever holds a jump.
        """
        if jumped := self._clock_jump():
            await self.append(*jumped)

    def _clock_jump(self) -> Sequence[ClockJumped]:
        jump_s = self._clock_ahead_s() - self._ahead_s
        if abs(jump_s) <= _JUMP_S or self.state.epoch_at is None:
            return ()
        self._ahead_s += jump_s
        return (ClockJumped(by_s=round(jump_s, 3)),)

    def _clock_ahead_s(self) -> float:
        """Return the seconds between the wall clock and the steady one, which differ for ever by the same."""
        return self._clock.now().timestamp() - self._clock.read_monotonic_s()

    def _place_all(self, events: Iterable[Event]) -> None:
        if self._failure:
            raise self._failure
        for event in (*self._clock_jump(), *events):
            self._place(event)

    def _place(self, event: Event) -> None:
        kept = redact_event(escape_surrogates(event), self.redactor)
        recorded = RecordedEvent(self.state.seq + 1, self._clock.now(), kept)
        heeded = self._count_heeded()
        apply_recorded_event(self.state, recorded)
        self._pending.append(recorded)
        if self._count_heeded() > heeded:
            self._stopping.set()
            self._stopping = anyio.Event()
            self._cancel_interrupted()

    async def _commit(self) -> None:
        derived = self._derive(self._pending)
        batch, self._pending = self._pending, []
        try:
            crash_point("journal.before-commit")
            await to_thread.run_sync(self._store.insert_events, batch, derived, limiter=self._writer_thread)
            crash_point("journal.after-commit")
        except (JournalProblem, RunLocked) as problem:
            self._failure = problem
            return
        self._durable = batch[-1].seq
        self._admission.admit_next()
        for listener in list(self.listeners):
            self._tell_listener(listener, batch)

    def _tell_listener(self, listener: EventListener, batch: Sequence[RecordedEvent]) -> None:
        """Tell whoever follows the run; once their terminal has gone away, nothing more, and the run goes on."""
        try:
            for recorded in batch:
                listener(recorded)
        except OSError:
            self.listeners.remove(listener)

    def _derive(self, batch: Sequence[RecordedEvent]) -> Mapping[str, str]:
        is_looked_for = any(isinstance(recorded.event, RunEnded | RunPaused | CommandTaken) for recorded in batch)
        now = self._clock.read_monotonic_s()
        if not is_looked_for and now < self._project_at:
            return {}
        begun = perf_counter()
        derived = {}
        for name, project in self.projections.items():
            derived[name] = project(self.state)
        self._project_at = now + max(_PROJECT_EVERY_S, _REST * (perf_counter() - begun))
        return derived

    def _count_heeded(self) -> int:
        """Return how much people have said that whatever is under way heeds at once."""
        return len(self.state.stopped_calls) + len(self.state.goal.words)

    @contextmanager
    def cancel_at_urgent_words(self, task: TaskId) -> Iterator[None]:
        """Cancel the block as soon as a person has said something to a task that does not wait."""
        with anyio.CancelScope() as scope:
            self._interruptible[scope] = task
            try:
                yield
            finally:
                del self._interruptible[scope]

    def _cancel_interrupted(self) -> None:
        for scope, task in self._interruptible.items():
            if has_urgent_words(self.state.goal.words.values(), task):
                scope.cancel()

    async def repeat_words(self, session: SessionId, turn: int | None, *, is_interruption: bool = False) -> None:
        """Do nothing: people say what they say. A replay repeats what they said then."""

    async def wait_for_call_stop(self, call: str) -> None:
        """Wait until a person has the call of a tool stopped whose effect has this name."""
        while call not in self.state.stopped_calls:
            await self._stopping.wait()

    def redact_text(self, text: str) -> str:
        """Return a text as it may be kept, shown and sent."""
        return self.redactor.redact_text(text)

    def hide_known_secrets(self, text: str) -> str:
        """Return the words of a model without the secrets that are known."""
        return self.redactor.hide_known_secrets(text)

    async def store_text(self, text: str, *, is_said: bool = False) -> Text:
        """Store a text of any length, redacted, and return how it stands in an event."""
        change = self.hide_known_secrets if is_said else self.redact_text
        text = make_encodable(text)
        text = change(text) if len(text) < _LONG_CHARS else await to_thread.run_sync(change, text)
        if len(text) <= INLINE_CHARS:
            return Text.build_inline(text)
        return Text(head=text[:INLINE_CHARS], size=len(text), sha=await self.store_bytes(text.encode()))

    async def read_text(self, text: Text) -> str:
        """Return the whole of a kept text."""
        if text.sha is None:
            return text.head
        try:
            return (await self.read_bytes(text.sha)).decode("utf-8", "replace")
        except BlobLost:
            return f"{text.head}\n[... the rest of {text.size:,} characters was lost when the journal was damaged]"

    async def store_bytes(self, content: bytes) -> str:
        """Store a blob, without known secrets, and return its sha256."""
        if self.redactor.find_secrets(content):
            content = self.redactor.hide_known_secrets(content.decode("latin-1")).encode("latin-1")
        return await to_thread.run_sync(self._blobs.write_blob, content)

    async def read_bytes(self, sha: str) -> bytes:
        """Return the content of a blob."""
        return await to_thread.run_sync(self._blobs.read_blob, sha)

    async def list_session_events(self, session: SessionId) -> list[RecordedEvent]:
        """Return all events of one conversation, in order."""
        if session not in self.state.sessions:
            return []
        async with self._turn:
            return await to_thread.run_sync(self._store.read_session, session)

    async def search_events(self, query: str, limit: int) -> list[SearchHit]:
        """Return the newest durable events in which all words of the query occur, newest first.

        One search is under way at a time: each locks the index, and many that wait for it would hold all threads.
        """
        async with self._search_turn:
            return await to_thread.run_sync(search_events, self.directory, query, limit)

    def close(self) -> None:
        """Write what is staged and close the file. Only after everybody who appends has stopped."""
        with suppress(JournalProblem, RunLocked):
            if self._pending and not self._failure:
                self._store.insert_events(self._pending)
        with suppress(JournalProblem):
            self._store.close()


@asynccontextmanager
async def flush_beside(journal: Journal) -> AsyncIterator[None]:
    """Make what is staged durable soon, for as long as the block lasts; its exceptions come out as they are."""
    async with run_background_tasks() as tasks:
        tasks.start_soon(journal.flush_staged_events)
        yield
