"""Every word that models, people and repositories may have put into a journal, hostile: no form of a report lives."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from pydantic import ValidationError
from pydantic_sarif.model import StaticAnalysisResultsFormatSarifVersion210JsonSchema as SarifLog

from orchestrator import __version__
from orchestrator.domain.event import Event
from orchestrator.journal.event_redaction import UNREDACTED_FIELDS
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.report.documents.ci_summary import render_step_summary
from orchestrator.report.documents.run_html import render_run_html
from orchestrator.report.documents.run_junit import render_run_junit
from orchestrator.report.documents.run_markdown import render_run_markdown
from orchestrator.report.documents.run_sarif import build_run_sarif
from tests.running.journals import write
from tests.running.kept_runs import KEPT_RUNS, report_of, reported
from tests.running.pages import HOSTILE, tags_of
from tests.unit.journal.test_golden_journals import JOURNALS, restore

WORDS = f"@someone fixes #1 | ![x](https://evil.example/x) `a` {HOSTILE}\ufffe\n## no"
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\u202e]")


def _hostile(value: Any, key: str = "") -> Any:
    """The same with hostile words after every text that is no name the program goes by."""
    if isinstance(value, dict):
        return {name: _hostile(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [_hostile(item, key) for item in value]
    return f"{value} {WORDS}" if isinstance(value, str) and key not in UNREDACTED_FIELDS else value


def _events(name: str, directory: Path) -> Iterator[Event]:
    for recorded in read_all_events(restore(JOURNALS / f"{name}.jsonl", directory / "kept.db")):
        plain = recorded.event.model_dump(mode="json")
        try:
            yield type(recorded.event).model_validate(_hostile(plain))
        except ValidationError as error:  # words of a fixed set, dates: those stay
            fixed = {str(place) for problem in error.errors() for place in problem["loc"]}
            kept = {key: value for key, value in plain.items() if key in fixed}
            yield type(recorded.event).model_validate(_hostile(plain) | kept)


@pytest.fixture(scope="module", params=KEPT_RUNS)
def report(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The report of a run of which every word is hostile, through the real store."""
    directory = tmp_path_factory.mktemp("hostile")
    write(directory, _events(request.param, directory))
    told: dict[str, Any] = reported(RunDirectory(directory))[1]
    assert "<script>" in json.dumps([told["goal"], told["reason"], told["tasks_by_tree"], told["migration"]])
    return told


def test_the_page_is_well_formed_and_nothing_in_it_is_alive(report: dict[str, Any]) -> None:
    page = render_run_html(report_of(report))
    tags_of(page)
    assert "&lt;script&gt;" in page


@pytest.mark.parametrize("form", [render_run_markdown, render_step_summary])
def test_the_markdown_mentions_nobody_and_loads_nothing(report: dict[str, Any], form: Any) -> None:
    text = form(report_of(report))
    bare = re.sub(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "", text)
    for alive in ("@someone", "fixes #1", "<script", "<img", "![", "!\\\\["):
        assert alive not in bare, alive
    assert not CONTROLS.search(text)
    assert "\n## no" not in text


def test_the_tests_are_well_formed(report: dict[str, Any]) -> None:
    root = ElementTree.fromstring(render_run_junit(report_of(report)).encode())
    assert int(root.attrib["tests"]) == len(list(root.iter("testcase"))) > 3


def test_the_findings_are_valid(report: dict[str, Any]) -> None:
    text = json.dumps(build_run_sarif(report_of(report), __version__).as_object())
    SarifLog.model_validate_json(text)
    assert not CONTROLS.search("".join(one["message"]["text"] for one in json.loads(text)["runs"][0]["results"]))
