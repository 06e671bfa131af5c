"""Spans of journals that earlier versions wrote: they have no engines and no policies, and are whole traces."""

import json
from datetime import datetime
from pathlib import Path

import pytest

from orchestrator.domain.event import RecordedEvent, parse_event
from orchestrator.domain.traces.trace_ids import build_trace_id, format_traceparent, is_trace_sampled
from orchestrator.telemetry.span_builder import SpanBuilder
from tests.golden import DATA

KEPT = sorted((DATA / "journals").glob("*.jsonl"))


def read_events(path: Path) -> list[RecordedEvent]:
    """The events of a kept journal."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        seq, at, kind, version, body, *_ = json.loads(line)
        found.append(RecordedEvent(seq, datetime.fromisoformat(at), parse_event(kind, version, json.dumps(body))))
    return found


@pytest.mark.parametrize("kept", KEPT, ids=lambda path: path.stem)
def test_an_old_journal_is_a_whole_trace(kept: Path) -> None:
    builder, spans = SpanBuilder(), {}
    events = read_events(kept)
    for recorded in events:
        for span in builder.add_event(recorded):
            spans[span.key] = span
    assert [span.title for span in spans.values() if span.parent is None] == [f"invoke_workflow {kept.stem[:-3]}"]
    assert {span.parent for span in spans.values()} - {None} <= spans.keys()
    calls = [one for one in events if one.event.kind == "model.called"]
    assert len([span for span in spans.values() if span.title.startswith("chat ")]) == len(calls)
    assert all(span.start <= span.end for span in spans.values())


def test_a_trace_is_that_of_its_run_for_ever() -> None:
    assert build_trace_id("20260214-101502-7f3a") == build_trace_id("20260214-101502-7f3a")
    assert build_trace_id("20260214-101502-7f3a") != build_trace_id("20260214-101502-7f3b")
    assert format_traceparent("r", "run", is_sampled=False).endswith("-00")


def test_a_sample_is_about_as_large_as_it_should_be() -> None:
    taken = sum(is_trace_sampled(f"run-{number}", 0.25) for number in range(2_000))
    assert 400 < taken < 600
    assert is_trace_sampled("run-1", 1.0)
    assert not is_trace_sampled("run-1", 0.0)
