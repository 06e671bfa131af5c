"""The thread that sends spans: what it does where events, spans or the collector are more than there is room for."""

import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event as Signal

import pytest

from orchestrator.domain.event import Event, RecordedEvent
from orchestrator.domain.event.work import ModelCalled, ModelFailed
from orchestrator.domain.ids import SessionId
from orchestrator.telemetry import sender as module
from orchestrator.telemetry.measurement import Measurement
from orchestrator.telemetry.sender import SentMark, TelemetrySender
from orchestrator.telemetry.span import FinishedSpan
from tests.running.collectors import wait_until

BEGIN = datetime(2026, 2, 14, tzinfo=UTC)


class Taking:
    """A collector that takes what it is sent while it is open."""

    def __init__(self, *, is_open: bool = True) -> None:
        self.spans: list[FinishedSpan] = []
        self.sent_metrics = 0
        self.is_open = is_open
        self.tried = Signal()

    def send_spans(self, spans: Sequence[FinishedSpan]) -> bool:
        self.tried.set()
        if self.is_open:
            self.spans += spans
        return self.is_open

    def add_measurements(self, measured: Sequence[Measurement]) -> None:
        """Measure nothing."""

    def send_metrics(self) -> bool:
        self.sent_metrics += 1
        return self.is_open


def record_calls(count: int) -> list[RecordedEvent]:
    """A journal of so many calls that failed, two events each."""
    events: list[Event] = []
    for number in range(count):
        about = {"session": SessionId("work:a@1"), "turn": number, "role": "worker", "model": "openai/gpt-5"}
        events.append(ModelCalled(key=f"model/{number}~0", **about))
        events.append(ModelFailed(key=f"model/{number}~0", **about, error="lost", detail="", retry_in_s=None))
    return [RecordedEvent(seq, BEGIN + timedelta(seconds=seq), event) for seq, event in enumerate(events, start=1)]


def build_sender(collector: Taking, journal: list[RecordedEvent], place: Path) -> TelemetrySender:
    def read_events(after: int) -> list[RecordedEvent]:
        return journal[after:]

    return TelemetrySender(lambda: collector, read_events, SentMark(place))


def test_events_that_have_no_room_are_read_from_the_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_QUEUED_EVENTS", 4)
    events, journal = record_calls(50), list[RecordedEvent]()
    collector = Taking()
    sender = build_sender(collector, journal, tmp_path)
    for recorded in events:
        journal.append(recorded)
        sender.queue_event(recorded)
    sender.start_thread()
    sender.close(10)
    assert [span.seq for span in collector.spans] == list(range(2, 101, 2))
    assert SentMark(tmp_path).read_seq() == 100


def test_spans_that_have_no_room_are_counted_and_all_sent_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_PENDING_SPANS", 10)
    events = record_calls(25)
    sender = build_sender(Taking(is_open=False), events, tmp_path)
    sender.start_thread()
    sender.close(10)
    assert sender.unsent_spans == 10
    assert SentMark(tmp_path).read_seq() == 0
    collector = Taking()
    again = build_sender(collector, events, tmp_path)
    again.start_thread()
    again.close(10)
    assert [span.seq for span in collector.spans] == list(range(2, 51, 2))
    assert again.unsent_spans == 0
    assert SentMark(tmp_path).read_seq() == 50


def test_what_waited_while_the_collector_was_dead_is_sent_once_it_lives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("MAX_PENDING_SPANS", 5), ("MAX_QUEUED_EVENTS", 4), ("_EVERY_S", 0.01), ("_RETRY_S", 0.02)):
        monkeypatch.setattr(module, name, value)
    events, journal = record_calls(25), list[RecordedEvent]()
    collector = Taking(is_open=False)
    sender = build_sender(collector, journal, tmp_path)
    sender.start_thread()
    for recorded in events:
        journal.append(recorded)
        sender.queue_event(recorded)
    assert collector.tried.wait(10)
    collector.is_open = True
    wait_until(lambda: len(collector.spans) == 25)
    sender.close(10)
    assert [span.seq for span in collector.spans] == list(range(2, 51, 2))


def test_nothing_is_sent_again_behind_the_mark(tmp_path: Path) -> None:
    events, collector = record_calls(3), Taking()
    SentMark(tmp_path).write_seq(4)
    sender = build_sender(collector, events, tmp_path)
    sender.start_thread()
    sender.close(10)
    assert [span.key for span in collector.spans] == ["effect model/2~0"]


def test_a_mark_that_cannot_be_read_sends_everything(tmp_path: Path) -> None:
    (tmp_path / module.MARK_FILE).write_text("nonsense")
    assert SentMark(tmp_path).read_seq() == 0


class Hanging(Taking):
    """A collector that takes a request and does not answer until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.let_go = Signal()

    def send_spans(self, spans: Sequence[FinishedSpan]) -> bool:
        self.tried.set()
        self.let_go.wait(10)
        return False


class Failing(Taking):
    """A collector whose package has a fault."""

    def send_spans(self, spans: Sequence[FinishedSpan]) -> bool:
        raise ValueError("no such thing")


def test_a_collector_that_hangs_is_known_before_the_run_ends_and_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_SLOW_S", 0.05)
    journal, collector = record_calls(1), Hanging()
    sender = build_sender(collector, journal[:1], tmp_path)
    sender.start_thread()
    sender.queue_event(journal[1])
    assert collector.tried.wait(module._EVERY_S / 2), "it is asked as soon as there is a span"
    time.sleep(0.1)
    begun = time.monotonic()
    sender.close(30)
    assert time.monotonic() - begun < 0.05
    assert sender.unsent_spans == 1
    collector.let_go.set()


def test_a_fault_in_what_sends_is_told_and_nobody_waits_for_it(tmp_path: Path) -> None:
    sender = build_sender(Failing(), record_calls(1), tmp_path)
    sender.start_thread()
    sender.close(30)
    assert (sender.problem, sender.unsent_spans) == ("ValueError: no such thing", 1)


def test_spans_are_sent_while_the_run_goes_on(tmp_path: Path) -> None:
    collector, events = Taking(), record_calls(1)
    sender = build_sender(collector, events, tmp_path)
    sender.start_thread()
    wait_until(lambda: collector.spans)
    sender.close(10)
    assert collector.sent_metrics == 1
