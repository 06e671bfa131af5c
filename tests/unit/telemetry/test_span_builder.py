"""Spans of journals that earlier versions wrote: they have no engines and no policies, and are whole traces."""

import json
from datetime import datetime
from pathlib import Path

import pytest
from opentelemetry.semconv._incubating.attributes.gen_ai_attributes import GenAiProviderNameValues

from orchestrator.domain.event import RecordedEvent, parse_event
from orchestrator.domain.event.run import CheckFinished
from orchestrator.domain.judging.check import ReceiptStatus
from orchestrator.domain.traces.trace_ids import build_trace_id, format_traceparent, is_trace_sampled
from orchestrator.telemetry.attributes import build_check_error, find_provider_name
from orchestrator.telemetry.span import FinishedSpan
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


def build_spans(events: list[RecordedEvent], *, has_content: bool = False) -> dict[str, FinishedSpan]:
    """The spans of events by their keys, each as it ended last."""
    builder, spans = SpanBuilder(has_content=has_content), {}
    for recorded in events:
        for span in builder.add_event(recorded):
            spans[span.key] = span
    return spans


@pytest.mark.parametrize("kept", KEPT, ids=lambda path: path.stem)
def test_an_old_journal_is_a_whole_trace(kept: Path) -> None:
    events = read_events(kept)
    spans = build_spans(events)
    assert [span.title for span in spans.values() if span.parent is None] == [f"invoke_workflow {kept.stem[:-3]}"]
    assert {span.parent for span in spans.values()} - {None} <= spans.keys()
    calls = [one for one in events if one.event.kind == "model.called"]
    assert len([span for span in spans.values() if span.title.startswith("chat ")]) == len(calls)
    assert all(span.start <= span.end for span in spans.values())


@pytest.mark.parametrize("kept", KEPT, ids=lambda path: path.stem)
def test_what_has_not_ended_when_its_run_does_is_sent_all_the_same(kept: Path) -> None:
    ends = {"task.ended", "planning.ended", "attempt.ended", "session.ended", "turn.ended", "landing.finished"}
    spans = build_spans([one for one in read_events(kept) if one.event.kind not in ends])
    assert {span.parent for span in spans.values()} - {None} <= spans.keys()
    unfinished = [span for span in spans.values() if "orchestrate.is_unfinished" in span.attributes]
    assert unfinished
    assert not [span for span in unfinished if span.error]


def test_files_of_a_migration_are_named_nowhere_and_its_steps_are_spans() -> None:
    events = read_events(DATA / "journals" / "migration.v1.jsonl")
    spans = build_spans(events)
    assert not [span for span in spans.values() if "shop/" in str(span)]
    (landing,) = [span for span in spans.values() if span.title == "landing"]
    assert landing.attributes["orchestrate.landing.unit_count"] == 8
    steps = [one.event for one in events if one.event.kind == "step.started"]
    assert len([span for span in spans.values() if span.title.startswith("step ")]) == len(steps) > 0


def test_a_red_check_failed_and_one_that_was_stopped_says_by_what() -> None:
    green = ReceiptStatus.COMPLETED
    told = {}
    for recorded in read_events(DATA / "journals" / "goal.v2.jsonl"):
        if isinstance(recorded.event, CheckFinished):
            receipt = recorded.event.receipt
            told[receipt.status, receipt.exit_code == 0] = build_check_error(receipt)
            late = receipt.model_copy(update={"status": ReceiptStatus.TIMED_OUT, "exit_code": None})
            assert build_check_error(late) == "timed-out"
    assert told == {(green, True): "", (green, False): "failed"}


def test_providers_have_the_names_of_the_conventions() -> None:
    published = {str(one.value) for one in GenAiProviderNameValues}
    named = ("openai/gpt-5", "anthropic/c", "gemini/g", "vertex_ai/g", "bedrock/b", "azure/a", "xai/x", "mistral/m")
    assert {find_provider_name(model) for model in (*named, "cohere_chat/c", "watsonx/w", "groq/g")} <= published
    assert find_provider_name("gpt-5", "codex") == "codex"


def test_a_trace_is_that_of_its_run_for_ever() -> None:
    assert build_trace_id("20260214-101502-7f3a") == build_trace_id("20260214-101502-7f3a")
    assert build_trace_id("20260214-101502-7f3a") != build_trace_id("20260214-101502-7f3b")
    assert format_traceparent("r", "run", is_sampled=False).endswith("-00")


def test_a_sample_is_about_as_large_as_it_should_be() -> None:
    taken = sum(is_trace_sampled(f"run-{number}", 0.25) for number in range(2_000))
    assert 400 < taken < 600
    assert is_trace_sampled("run-1", 1.0)
    assert not is_trace_sampled("run-1", 0.0)
