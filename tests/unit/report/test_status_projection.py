"""The status that an engine renders again and again is what is rendered from the whole state."""

import json
from pathlib import Path

from orchestrator.domain.fold.projection import apply_recorded_event
from orchestrator.domain.run.state import RunState
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.report.run.result import render_status_json
from orchestrator.report.run.status_projection import StatusProjection
from tests.golden import DATA
from tests.unit.journal.test_golden_journals import restore


def test_a_status_rendered_after_each_event_is_that_of_the_whole_state(tmp_path: Path) -> None:
    journal = restore(DATA / "journals" / "goal.v2.jsonl", tmp_path / "journal.db")
    state, projection = RunState(), StatusProjection(journal)
    for recorded in read_all_events(journal):
        apply_recorded_event(state, recorded)
        if recorded.seq % 5 == 0:
            assert json.loads(projection.render_json(state)) == json.loads(render_status_json(state, journal))
