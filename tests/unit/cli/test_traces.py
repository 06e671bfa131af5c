"""`orchestrate traces`: the spans of a recorded run as a tree, and where they are sent to."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from orchestrator.cli.main import cli
from orchestrator.domain.traces.trace_ids import build_trace_id
from orchestrator.errors import EnvironmentProblem, UsageProblem
from tests.running.collectors import collecting
from tests.running.kept_place import MIGRATION, Place, kept_runs

SETTINGS = """[telemetry]
enabled = true
endpoint = "{endpoint}"
headers = {{ Authorization = "COLLECTOR_KEY" }}
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("COLLECTOR_KEY", "Bearer of-mine")
    return kept_runs(tmp_path)


def configure(tmp_path: Path, endpoint: str) -> None:
    """Have the user's own file name a collector."""
    path = tmp_path / "config" / "orchestrate" / "config.toml"
    path.parent.mkdir(parents=True)
    path.write_text(SETTINGS.format(endpoint=endpoint))


def invoke(place: Place, *words: str) -> Result:
    return CliRunner().invoke(cli, ["traces", *words, *place.where])


def test_the_spans_of_a_run_that_was_never_traced_are_a_tree(place: Place) -> None:
    first, *lines = invoke(place, MIGRATION).output.splitlines()
    assert first.startswith(f"trace {build_trace_id(MIGRATION)}: {len(lines)} spans")
    assert lines[0].startswith("  invoke_workflow migration  ")
    assert all(line.startswith("    ") for line in lines[1:])


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--export"], "no collector is named: set enabled = true under [telemetry], or give --endpoint URL"),
        (["--export", "--endpoint", "localhost:4318"], "no address of a collector: give one such as http://"),
        (["--endpoint", "http://127.0.0.1:9"], "give --export as well"),
    ],
)
def test_where_nothing_can_be_sent_to_is_said(place: Place, words: list[str], told: str) -> None:
    done = invoke(place, *words)
    assert isinstance(done.exception, UsageProblem)
    assert told in str(done.exception)


def test_a_collector_that_refuses_is_named(place: Place) -> None:
    with collecting(status=400) as collector:
        done = invoke(place, "--export", "--endpoint", collector.endpoint)
    assert isinstance(done.exception, EnvironmentProblem)
    assert collector.endpoint in str(done.exception)


def test_headers_go_to_the_collector_that_they_are_configured_for_and_to_no_other(place: Place, tmp_path: Path) -> None:
    with collecting() as mine, collecting() as other:
        configure(tmp_path, mine.endpoint)
        assert invoke(place, "--export").exit_code == 0
        assert invoke(place, "--export", "--endpoint", mine.endpoint).exit_code == 0
        assert invoke(place, "--export", "--endpoint", other.endpoint).exit_code == 0
    assert [one.get("authorization") for one in mine.headers] == ["Bearer of-mine"] * 2
    assert [one.get("authorization") for one in other.headers] == [None]
    assert mine.by_id() == other.by_id()
