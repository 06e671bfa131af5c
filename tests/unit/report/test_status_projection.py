"""The status that an engine renders again and again is what is rendered from the whole state."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.event.work import ModelCalled, ModelFailed, SessionStarted
from orchestrator.domain.fold.projection import apply_recorded_event
from orchestrator.domain.ids import SessionId, TaskId
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.blob_text import Text
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.report.run.result import render_status_json
from orchestrator.report.run.status_projection import StatusProjection
from tests.golden import DATA
from tests.running.goal_events import begun, created, recorded
from tests.unit.journal.test_golden_journals import restore


def test_a_status_rendered_after_each_event_is_that_of_the_whole_state(tmp_path: Path) -> None:
    journal = restore(DATA / "journals" / "goal.v2.jsonl", tmp_path / "journal.db")
    state, projection = RunState(), StatusProjection(journal)
    for event in read_all_events(journal):
        apply_recorded_event(state, event)
        if event.seq % 5 == 0:
            assert json.loads(projection.render_json(state)) == json.loads(render_status_json(state, journal))


def test_what_an_open_call_had_reserved_is_not_shown_once_it_has_failed_unbilled(tmp_path: Path) -> None:
    where: dict[str, Any] = {"task": TaskId("a"), "session": SessionId("verify:a"), "role": "verifier"}
    call: dict[str, Any] = {"key": "model/verify:a/0~0", "turn": 0, "model": "m", **where}
    events = [
        *begun(),
        created("a"),
        SessionStarted(**where, model="m", prompt="p", system=Text(), brief=Text()),
        ModelCalled(**call, reserved=Usage(calls=1, output_tokens=7, cost_usd=Decimal("0.07"))),
        ModelFailed(**call, error="script-exhausted", detail="", retry_in_s=None),
    ]
    state, projection = RunState(), StatusProjection(tmp_path)
    for event in recorded(events):
        apply_recorded_event(state, event)
        assert json.loads(projection.render_json(state)) == json.loads(render_status_json(state, tmp_path))
