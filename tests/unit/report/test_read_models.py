"""Documents as models: fields that are absent, their schemas, and a stored status of another version."""

import json
import sqlite3
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import Field

from orchestrator.cli.inspect.status import read_status
from orchestrator.cli.schemas import schema_of_document
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.journal.storage.checksums import compute_text_sum
from orchestrator.journal.storage.event_store import EventStore
from orchestrator.report.read_model import Document, Omittable
from orchestrator.report.run.result import render_status_json
from tests.running.kept_runs import kept_run
from tests.unit.journal.test_golden_journals import KEPT, restore


class Greeting(Document):
    schema_name: Literal["test.greeting/1"] = Field(default="test.greeting/1", alias="schema")
    text: str
    name: str | None = None
    times: Omittable[int] = None


def test_an_absent_field_is_left_out_and_one_that_is_null_is_not() -> None:
    assert Greeting(text="a").as_object() == {"schema": "test.greeting/1", "text": "a", "name": None}
    assert Greeting(text="a", times=0).as_object()["times"] == 0


def test_a_schema_requires_every_field_that_is_never_absent() -> None:
    (schema,) = schema_of_document(Greeting, "greet").values()
    assert schema["required"] == ["schema", "text", "name"]
    assert schema["properties"]["schema"]["const"] == "test.greeting/1"
    assert schema["properties"]["times"] == {"type": "integer"}


def test_a_document_gives_its_fields_to_another_that_says_more() -> None:
    assert Greeting(text="a").copy_fields() == {"text": "a", "name": None, "times": None}


@pytest.mark.parametrize("change", [{}, {"seq": "many"}, {"of_a_later_version": 1}], ids=str)
def test_a_stored_status_is_read_and_one_of_another_version_is_derived_anew(
    change: dict[str, Any], tmp_path: Path
) -> None:
    state, _ = kept_run("goal.v2", tmp_path)
    place = tmp_path / "state" / "runs" / "r"
    place.mkdir(parents=True)
    directory = RunDirectory(place)
    restore(next(path for path in KEPT if path.stem == "goal.v2"), directory.journal)
    EventStore.open_writer(directory.journal).close()
    body = json.dumps(json.loads(render_status_json(state, directory.journal)) | {"goal": "stored"} | change)
    row = ("status", state.seq, datetime.now(UTC).isoformat(), body)
    connection = sqlite3.connect(directory.journal)
    with connection:
        connection.execute("INSERT INTO projection VALUES(?, ?, ?, ?, ?)", (*row, compute_text_sum(*row[:3], body)))
    connection.close()
    with read_status(directory) as status:
        assert (status.goal == "stored") is (not change)
        assert status.seq == state.seq
        assert status.disk.journals > 0
