"""Sends the spans of a run beside its engine: in a thread of its own, of events that the journal has already.

Nobody waits for a collector that is dead or slow. The mark in the run's directory says up to which event everything was
sent; what was not is sent by the next engine of the run.
"""

import json
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from functools import partial
from itertools import islice
from pathlib import Path
from threading import Condition, Thread
from time import monotonic
from typing import Protocol

from orchestrator.domain.event import RecordedEvent
from orchestrator.errors import OrchestrateError
from orchestrator.telemetry.measurement import Measurement, Meter
from orchestrator.telemetry.span import FinishedSpan
from orchestrator.telemetry.span_builder import SpanBuilder
from worktrees.durable_files import write_durably

MARK_FILE = "telemetry.json"
MAX_QUEUED_EVENTS = 10_000
"""Most events that wait for the thread; of more, the thread reads the journal."""
MAX_PENDING_SPANS = 20_000
"""Most spans that wait for the collector, give or take what one event ends; then the thread takes no more events."""
BATCH_SPANS = 500
_EVERY_S = 2.0
_FIRST_S = 0.1
"""So soon is a collector sent the first span: until the run ends it is known if that answers."""
_RETRY_S = 15.0
_SLOW_S = 0.5
"""A collector that takes longer for one request is not waited for at the end."""

ReadEvents = Callable[[int], Iterable[RecordedEvent]]


class TelemetryCollector(Protocol):
    """Whoever takes spans and metrics; what sends blocks, and returns False where nothing was taken."""

    def send_spans(self, spans: Sequence[FinishedSpan]) -> bool:
        """Send spans."""

    def add_measurements(self, measured: Sequence[Measurement]) -> None:
        """Add values to the metrics."""

    def send_metrics(self) -> bool:
        """Send how the metrics stand."""


class SentMark:
    """The file that holds up to which event all spans of a run were sent."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / MARK_FILE

    def read_seq(self) -> int:
        """Return the event; 0 if nothing was sent, or the file cannot be used."""
        try:
            return int(json.loads(self._path.read_bytes())["sent_through"])
        except (OSError, ValueError, KeyError, TypeError):
            return 0

    def write_seq(self, seq: int) -> None:
        """Move the mark; where it cannot be written the same spans are sent again."""
        try:
            write_durably(self._path, json.dumps({"sent_through": seq}).encode(), mode=0o600)
        except OSError:
            return


class TelemetrySender:
    """The thread that sends a run's spans, from the first that was not sent on. `queue_event` listens to the journal.

    `connect` opens the collector; it is called in the thread, as it loads packages. `read_events` reads the journal
    behind an event. With `sends_spans` false only metrics are sent.
    """

    def __init__(
        self,
        connect: Callable[[], TelemetryCollector],
        read_events: ReadEvents,
        mark: SentMark,
        *,
        has_content: bool = False,
        sends_spans: bool = True,
        sends_metrics: bool = True,
    ) -> None:
        self._connect = connect
        self._read_events = read_events
        self._mark = mark
        self._builder = SpanBuilder(has_content=has_content)
        self._meter = Meter(self._builder.find_identity)
        self._sends_spans = sends_spans
        self._sends_metrics = sends_metrics
        self._queued: deque[RecordedEvent] = deque(maxlen=MAX_QUEUED_EVENTS)
        self._seen = 0
        self._marked = mark.read_seq()
        self._pending: deque[FinishedSpan] = deque()
        self._measured: list[Measurement] = []
        self._is_behind = True
        self._retry_at = 0.0
        self._busy_since: float | None = None
        self._was_asked = False
        self._is_failing = False
        self._problem = ""
        self._is_closing = False
        self._is_done = False
        self._news = Condition()
        self._thread = Thread(target=self._run, name="telemetry", daemon=True)

    @property
    def unsent_spans(self) -> int:
        """The number of spans that the collector has not taken, as far as they are built; 0 if it took all.

        Of events that wait because too many spans do, or because it hangs, none are built.
        """
        return len(self._pending)

    @property
    def problem(self) -> str:
        """The error by which the thread ended early; empty if it did not."""
        return self._problem

    def start_thread(self) -> None:
        """Start to send what the journal has, and what is queued."""
        self._thread.start()

    def queue_event(self, recorded: RecordedEvent) -> None:
        """Queue an event that is durable. Never blocks: what has no room is read from the journal later."""
        self._queued.append(recorded)

    def close(self, wait_s: float) -> None:
        """Send what is left; wait for that at most so long, and not at all for a collector that is dead or slow."""
        with self._news:
            self._is_closing = True
            self._news.notify()
            ends_at = monotonic() + wait_s
            while not self._is_done and not self._is_hopeless() and monotonic() < ends_at:
                self._news.wait(min(_SLOW_S / 5, wait_s))

    def _is_hopeless(self) -> bool:
        since = self._busy_since
        return self._is_failing or (since is not None and monotonic() - since > _SLOW_S)

    def _run(self) -> None:
        try:
            collector = self._connect()
            while self._go_on(collector):
                with self._news:
                    if not self._is_closing:
                        self._news.wait(self._choose_pause())
        except OrchestrateError:
            self._is_failing = True  # the journal cannot be read: the engine has more to say of that
        except Exception as error:  # noqa: BLE001 - a thread would print it over whatever is on screen
            self._problem, self._is_failing = f"{type(error).__name__}: {error}", True
        finally:
            with self._news:
                self._is_done = True
                self._news.notify()

    def _choose_pause(self) -> float:
        if self._was_asked:
            return _EVERY_S
        return _FIRST_S

    def _go_on(self, collector: TelemetryCollector) -> bool:
        """Take what is queued and send it; return False once everything is sent that can be."""
        is_last = self._is_closing
        self._take_and_send(collector)
        while self._is_behind and not self._is_failing:
            self._take_and_send(collector)
        return not is_last

    def _take_and_send(self, collector: TelemetryCollector) -> None:
        self._take_events()
        is_due = monotonic() >= self._retry_at or (self._is_closing and not self._is_failing)
        if is_due and (self._pending or self._measured):
            self._send(collector)

    def _iterate_news(self) -> Generator[RecordedEvent]:
        """Yield the events behind the last that was seen: from the queue, or from the journal where that ran over."""
        if self._is_behind:
            self._is_behind = False
            yield from self._read_events(self._seen)
        while self._queued:
            recorded = self._queued.popleft()
            if recorded.seq > self._seen + 1:
                yield from self._read_events(self._seen)
            yield recorded

    def _take_events(self) -> None:
        """Take events until there are no more, or no room for more spans: then the journal has the rest."""
        if len(self._pending) >= MAX_PENDING_SPANS:
            self._is_behind = True
            return
        with closing(self._iterate_news()) as news:
            for recorded in news:
                if recorded.seq > self._seen:
                    self._take_event(recorded)
                if len(self._pending) >= MAX_PENDING_SPANS:
                    self._is_behind = True
                    return

    def _take_event(self, recorded: RecordedEvent) -> None:
        self._seen = recorded.seq
        spans, measured = self._builder.add_event(recorded), self._meter.add_event(recorded)
        if recorded.seq <= self._marked:
            return
        if self._sends_spans:
            self._pending.extend(spans)
        if self._sends_metrics:
            self._measured += measured

    def _send(self, collector: TelemetryCollector) -> None:
        through, is_measured = self._seen, bool(self._measured)
        collector.add_measurements(self._measured)
        self._measured = []
        while self._pending:
            batch = list(islice(self._pending, BATCH_SPANS))
            if not self._deliver(partial(collector.send_spans, batch)):
                return
            for _ in batch:
                self._pending.popleft()
        self._mark.write_seq(through)
        if is_measured:
            self._deliver(collector.send_metrics)

    def _deliver(self, send: Callable[[], bool]) -> bool:
        self._busy_since, self._was_asked = monotonic(), True
        is_taken = send()
        self._busy_since = None
        self._is_failing = not is_taken
        if not is_taken:
            self._retry_at = monotonic() + _RETRY_S
        return is_taken
