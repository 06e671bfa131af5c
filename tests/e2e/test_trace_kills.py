"""Killed with SIGKILL in the middle and resumed, a run sends one whole trace."""

from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.domain.event.work import ModelCalled
from orchestrator.domain.traces.span_names import name_effect_span
from orchestrator.domain.traces.trace_ids import build_span_id, build_trace_id
from orchestrator.journal.storage.event_store import read_all_events
from tests.running.collectors import collecting
from tests.running.killing import as_json, die
from tests.running.stories import goal

pytestmark = [pytest.mark.slow, pytest.mark.extended, pytest.mark.sandbox, pytest.mark.timeout(300)]


@pytest.mark.parametrize("moment", ["tool.before-done:3", "model.after-intent:4", "landing.before-done"])
def test_a_killed_and_resumed_run_is_one_whole_trace(moment: str, tmp_path: Path) -> None:
    with collecting() as collector:
        settings = ("--set", "telemetry.enabled=true", "--set", f"telemetry.endpoint={collector.endpoint}")
        start = goal(tmp_path)
        start = replace(start, words=(*start.words, *settings))
        assert die(start, moment, start.words)
        result = as_json(start.resume())
    assert result["outcome"] == "done"
    run, known = result["run"], collector.by_id()
    assert {span.trace_id.hex() for span in collector.spans} == {build_trace_id(run)}
    assert {span.parent_span_id for span in collector.spans} - set(known) == {b""}
    calls = [one.event for one in read_all_events(Path(result["journal"])) if isinstance(one.event, ModelCalled)]
    assert calls
    for call in calls:
        span = known[bytes.fromhex(build_span_id(run, name_effect_span(call.key)))]
        assert collector.parent(span) == f"turn {call.turn}"
    for span in collector.spans:  # what was sent twice is the same
        assert span == known[span.span_id]
