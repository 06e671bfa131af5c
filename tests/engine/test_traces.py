"""Traces and metrics of whole runs: what a collector receives, what it does not, and what nobody waits for."""

import json
import time
from typing import Any

import pytest
from anyio import to_thread
from click.testing import CliRunner
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as gen_ai
from opentelemetry.semconv._incubating.metrics import gen_ai_metrics
from opentelemetry.semconv.attributes import error_attributes

from orchestrator.app.run_execution import RunExit
from orchestrator.cli.main import cli
from orchestrator.domain.event.external import HookFinished
from orchestrator.domain.run.notice_codes import NoticeCode
from orchestrator.domain.traces.span_names import name_event_span
from orchestrator.domain.traces.trace_ids import build_span_id, build_trace_id
from orchestrator.journal.storage.event_store import read_all_events
from tests.running.collectors import Collector, collecting, read_attributes
from tests.running.goals import TWO, Bench, one
from tests.running.scripts import judges, planner_ends, plans, reviews, worker_ends, writes

pytestmark = pytest.mark.sandbox


def sent_to(collector: Collector, **more: Any) -> dict[str, Any]:
    """The settings that send everything to a collector."""
    return {"enabled": True, "endpoint": collector.endpoint, **more}


def unsent(ended: RunExit) -> list[str]:
    """What the run says of spans that could not be sent."""
    return [notice.text for notice in ended.state.notices if notice.code == NoticeCode.TELEMETRY_UNSENT]


def published_names() -> set[str]:
    """All names of attributes that the conventions know for generative AI."""
    return {value for name, value in vars(gen_ai).items() if name.startswith("GEN_AI_") and isinstance(value, str)}


async def test_a_collector_receives_a_whole_run_with_the_right_parents(bench: Bench) -> None:
    with collecting() as collector:
        ended = await bench.run(*one("a"), telemetry=sent_to(collector))
    assert ended.exit_code == 0
    trace = bytes.fromhex(build_trace_id(ended.state.run.run))
    assert {span.trace_id for span in collector.spans} == {trace}
    assert len(collector.by_id()) == len(collector.spans)
    (root,) = [span for span in collector.spans if not span.parent_span_id]
    assert root.name == "invoke_workflow goal"
    assert {(span.name, collector.parent(span)) for span in collector.spans} >= {
        ("task root", "invoke_workflow goal"),
        ("task a", "task root"),
        ("attempt a@1", "task a"),
        ("invoke_agent planner", "task root"),
        ("invoke_agent worker", "attempt a@1"),
        ("turn 0", "invoke_agent planner"),
        ("turn 0", "invoke_agent worker"),
        ("turn 1", "invoke_agent worker"),
        ("chat scripted", "turn 0"),
        ("execute_tool write", "turn 0"),
        ("execute_tool finish", "turn 1"),
        ("invoke_agent judge", "task a"),
        ("landing", "task a"),
        ("check gate", "task a"),
        ("check gate", "invoke_workflow goal"),
    }
    replies = [one for one in read_all_events(ended.directory.journal) if one.event.kind == "model.replied"]
    assert len(collector.named("chat")) == len(replies)
    assert all(span.start_time_unix_nano <= span.end_time_unix_nano for span in collector.spans)
    assert {one["service.name"] for one in collector.resources} == {"orchestrate"}
    assert {one["service.instance.id"] for one in collector.resources} == {ended.state.run.run}
    assert unsent(ended) == []


async def test_every_line_of_the_log_names_a_span_that_was_sent(bench: Bench) -> None:
    with collecting() as collector:
        ended = await bench.run(*TWO, telemetry=sent_to(collector))
    run, known = ended.state.run.run, set(collector.by_id())
    for recorded in read_all_events(ended.directory.journal):
        assert bytes.fromhex(build_span_id(run, name_event_span(recorded.event))) in known, recorded.event.kind


async def test_spans_have_the_attributes_of_the_conventions_and_the_agents_identity(bench: Bench) -> None:
    with collecting() as collector:
        ended = await bench.run(*one("a"), telemetry=sent_to(collector))
    for span in collector.spans:
        names = {name for name in read_attributes(span.attributes) if name.startswith("gen_ai.")}
        assert names <= published_names()
    chat = collector.named("chat")[0]
    assert chat.kind == Span.SPAN_KIND_CLIENT
    about = read_attributes(chat.attributes)
    assert about[gen_ai.GEN_AI_OPERATION_NAME] == gen_ai.GenAiOperationNameValues.CHAT.value
    assert about[gen_ai.GEN_AI_PROVIDER_NAME] == "scripted"
    assert about[gen_ai.GEN_AI_REQUEST_MODEL] == "scripted"
    assert {gen_ai.GEN_AI_USAGE_INPUT_TOKENS, gen_ai.GEN_AI_USAGE_OUTPUT_TOKENS} <= set(about)
    assert about[gen_ai.GEN_AI_RESPONSE_FINISH_REASONS]
    tool = read_attributes(collector.named("execute_tool write")[0].attributes)
    assert tool[gen_ai.GEN_AI_OPERATION_NAME] == gen_ai.GenAiOperationNameValues.EXECUTE_TOOL.value
    assert tool[gen_ai.GEN_AI_TOOL_NAME] == "write"
    agent = read_attributes(collector.named("invoke_agent worker")[0].attributes)
    assert agent[gen_ai.GEN_AI_OPERATION_NAME] == gen_ai.GenAiOperationNameValues.INVOKE_AGENT.value
    assert agent[gen_ai.GEN_AI_AGENT_NAME] == "worker"
    workflow = read_attributes(collector.named("invoke_workflow")[0].attributes)
    assert workflow[gen_ai.GEN_AI_OPERATION_NAME] == gen_ai.GenAiOperationNameValues.INVOKE_WORKFLOW.value
    identity = {name: value for name, value in tool.items() if name.startswith("orchestrate.")}
    assert identity == {
        "orchestrate.run.id": ended.state.run.run,
        "orchestrate.task.id": "a",
        "orchestrate.attempt.number": 1,
        "orchestrate.agent.role": "worker",
        "orchestrate.agent.model": "scripted",
        "orchestrate.agent.engine": "loop",
        "orchestrate.tool.tier": identity["orchestrate.tool.tier"],
    }


async def test_content_is_sent_only_where_its_user_says_so_and_never_a_secret(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_PASSPHRASE", "hunter2-of-the-shop")
    with collecting() as collector:
        await bench.run(*one("a"), telemetry=sent_to(collector))
    sent = b"".join(collector.bodies)
    assert b"make it better" not in sent
    assert b"a.txt" not in sent
    assert str(bench.root).encode() not in sent
    work = [writes("a", "a.txt", "a\n"), worker_ends("a", "it is hunter2-of-the-shop"), reviews("a")]
    items = [plans("root", {"key": "a"}), *work, planner_ends(), judges()]
    with collecting() as collector:
        await bench.run(*items, telemetry=sent_to(collector, content=True), redact={"env": ["SHOP_PASSPHRASE"]})
    assert not [body for body in collector.bodies if b"hunter2" in body]
    (report,) = [one for one in collector.named("execute_tool finish") if b"it is " in one.SerializeToString()]
    assert "it is [" in read_attributes(report.attributes)[gen_ai.GEN_AI_TOOL_CALL_ARGUMENTS]
    about = read_attributes(collector.named("invoke_agent planner")[0].attributes)
    assert "make it better" in about[gen_ai.GEN_AI_INPUT_MESSAGES]
    first_call, *_ = collector.named("chat")
    (answer,) = json.loads(read_attributes(first_call.attributes)[gen_ai.GEN_AI_OUTPUT_MESSAGES])
    assert answer["finish_reason"] == "tool_calls"
    assert [(part["type"], part["name"]) for part in answer["parts"]] == [("tool_call", "submit_plan")]
    (tool,) = collector.named("execute_tool write")
    assert json.loads(read_attributes(tool.attributes)[gen_ai.GEN_AI_TOOL_CALL_ARGUMENTS])["path"] == "a.txt"


async def test_metrics_count_tokens_calls_and_landings(bench: Bench) -> None:
    with collecting() as collector:
        await bench.run(*TWO, telemetry=sent_to(collector))
    latest = {metric.name: metric for metric in collector.metrics}
    assert {gen_ai_metrics.GEN_AI_CLIENT_TOKEN_USAGE, gen_ai_metrics.GEN_AI_CLIENT_OPERATION_DURATION} <= set(latest)
    calls = latest[gen_ai_metrics.GEN_AI_CLIENT_OPERATION_DURATION].histogram.data_points
    assert sum(point.count for point in calls) == len(collector.named("chat"))
    assert sum(point.as_double + point.as_int for point in latest["orchestrate.landings"].sum.data_points) == 2
    assert sum(point.count for point in latest["orchestrate.queue.duration"].histogram.data_points) == 2


async def test_headers_are_read_from_the_environment_and_never_recorded(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLLECTOR_KEY", "Basic 8f3b2c-not-to-be-kept")
    with collecting() as collector:
        settings = sent_to(collector, headers={"Authorization": "COLLECTOR_KEY"})
        ended = await bench.run(*one("a"), telemetry=settings)
    assert {one["authorization"] for one in collector.headers} == {"Basic 8f3b2c-not-to-be-kept"}
    assert b"8f3b2c" not in ended.directory.journal.read_bytes()


async def test_a_failed_call_is_an_error_by_its_name(bench: Bench) -> None:
    with collecting() as collector:
        ended = await bench.run(plans("root", {"key": "a"}), judges(), telemetry=sent_to(collector))
    assert ended.exit_code != 0
    failed = [span for span in collector.spans if span.status.code == Status.STATUS_CODE_ERROR]
    assert failed
    for span in failed:
        assert read_attributes(span.attributes)[error_attributes.ERROR_TYPE] == span.status.message


async def test_a_hook_gets_a_context_within_the_trace_of_the_run(bench: Bench) -> None:
    hooks = [{"on": "after_landing", "run": "echo $TRACEPARENT", "trusted": True}]
    with collecting() as collector:
        ended = await bench.run(*one("a"), hooks=hooks, telemetry=sent_to(collector))
    events = [recorded.event for recorded in read_all_events(ended.directory.journal)]
    (answer,) = [event.stdout.head for event in events if isinstance(event, HookFinished)]
    (span,) = collector.named("hook after_landing")
    assert answer.strip() == f"00-{span.trace_id.hex()}-{span.span_id.hex()}-01"


async def test_a_run_that_is_not_in_the_sample_sends_no_span(bench: Bench) -> None:
    with collecting() as collector:
        ended = await bench.run(*one("a"), telemetry=sent_to(collector, sample=0.0))
    assert (ended.exit_code, collector.spans) == (0, [])
    assert collector.metrics


STOPS_ONCE = """test -e "$HOOK_FLAG" || { touch "$HOOK_FLAG"; echo '{"decision": "stop", "reason": "wait"}'; }"""


async def test_what_a_dead_collector_did_not_take_is_told_once_and_sent_by_the_next_engine(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOK_FLAG", str(bench.root / "flag"))
    hooks = [{"on": "before_landing", "run": STOPS_ONCE, "trusted": True}]
    with collecting(status=503) as collector:
        stopped = await bench.run(*one("a"), hooks=hooks, telemetry=sent_to(collector))
        assert stopped.exit_code == 6
        assert len(unsent(stopped)) == 1
        assert collector.spans == []
        collector.status = 200
        ended = await bench.resume(*one("a"), telemetry=sent_to(collector))
    assert ended.exit_code == 0
    assert unsent(ended) == unsent(stopped)
    assert {"attempt a@1", "invoke_agent worker", "landing", "invoke_workflow goal"} <= {
        span.name for span in collector.spans
    }
    known = collector.by_id()
    assert {span.parent_span_id for span in collector.spans} - set(known) == {b""}
    for span in collector.spans:  # what was sent twice is the same
        assert span == known[span.span_id]


async def test_a_resumed_run_sends_nothing_twice_and_goes_on_with_the_same_trace(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOK_FLAG", str(bench.root / "flag"))
    hooks = [{"on": "before_landing", "run": STOPS_ONCE, "trusted": True}]
    with collecting() as collector:
        stopped = await bench.run(*one("a"), hooks=hooks, telemetry=sent_to(collector))
        first = set(collector.by_id())
        assert stopped.exit_code == 6
        assert collector.named("attempt a@1")
        ended = await bench.resume(*one("a"), telemetry=sent_to(collector))
    assert ended.exit_code == 0
    assert len(collector.spans) == len(collector.by_id()) > len(first)
    assert {span.trace_id.hex() for span in collector.spans} == {build_trace_id(ended.state.run.run)}
    assert {span.parent_span_id for span in collector.spans} - set(collector.by_id()) == {b""}


async def test_a_collector_that_hangs_is_not_waited_for(bench: Bench) -> None:
    with collecting(delay_s=60.0) as collector:
        begun = time.monotonic()
        ended = await bench.run(*one("a"), telemetry=sent_to(collector, flush_s=30.0))
        seconds = time.monotonic() - begun
    assert ended.exit_code == 0
    assert seconds < 20
    assert len(unsent(ended)) == 1


async def test_the_spans_of_an_ended_run_can_be_sent_again_and_are_the_same(bench: Bench) -> None:
    with collecting() as collector:
        ended = await bench.run(*one("a"), telemetry=sent_to(collector))
        first = collector.by_id()
        collector.spans.clear()
        words = ("traces", "--export", "--endpoint", collector.endpoint, "--repo", str(bench.repository))
        state = ("--state", str(bench.root / "state"))
        done = await to_thread.run_sync(lambda: CliRunner().invoke(cli, [*words, *state]))
    assert done.exit_code == 0, done.output
    assert collector.by_id() == first
    lines = done.output.splitlines()
    assert lines[0] == f"trace {build_trace_id(ended.state.run.run)}: {len(first)} spans were sent"
    assert lines[1].startswith("  invoke_workflow goal  ")
