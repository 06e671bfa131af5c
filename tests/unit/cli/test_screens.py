"""Whether a dashboard can be shown, and what it costs to get there."""

import subprocess
import sys

import pytest

from orchestrator.cli.dashboard.screen import can_show_dashboard
from tests.running.kept_place import Place, kept_runs

_LOADED = """
import sys
import orchestrator.cli.dashboard.actions, orchestrator.cli.dashboard.screen, orchestrator.cli.dashboard.watch
import orchestrator.tui.app, orchestrator.tui.plain_follower, orchestrator.tui.run_feed.feed
from orchestrator.tui.view_stack import BURNDOWN_TAB, DETAIL_VIEWS, TABS, load_view_class
for path in {*(tab.path for tab in (*TABS, BURNDOWN_TAB)), *DETAIL_VIEWS.values()}:
    load_view_class(path)
print(" ".join(sys.modules))
"""
_WORKERS = (
    "litellm",
    "openai",
    "orchestrator.app.wiring",
    "orchestrator.app.run_execution",
    "orchestrator.engine.goal.run",
)


def test_a_dashboard_loads_nothing_that_works_on_runs() -> None:
    done = subprocess.run([sys.executable, "-c", _LOADED], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert "orchestrator.tui.views.worker" in loaded
    assert [name for name in _WORKERS if name in loaded] == []


_RUN = """
import sys
from orchestrator.cli.main import main
try:
    main()
finally:
    print(" ".join(sys.modules), file=sys.stderr)
"""
_HEAVY = {"litellm", "openai", "textual", "git", "rich", "hypothesis"}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return kept_runs(tmp_path_factory.mktemp("recorded"))


@pytest.mark.parametrize(
    "words",
    [("status", "--json"), ("status", "--filter", "state:done"), ("logs",), ("cost",)],
    ids=" ".join,
)
def test_verbs_that_only_read_load_nothing_heavy(place: Place, words: tuple[str, ...]) -> None:
    """What they cost is measured by bench/startup."""
    line = [sys.executable, "-c", _RUN, *words, *place.where]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    loaded = done.stderr.splitlines()[-1].split()
    assert f"orchestrator.cli.inspect.{words[0]}" in loaded
    assert _HEAVY & {*loaded} == set()


def test_a_status_that_the_engine_has_stored_is_printed_without_pydantic() -> None:
    program = (
        "import sys; import orchestrator.cli.inspect.status; print('sqlite3' in sys.modules, 'pydantic' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "True False\n"


@pytest.mark.parametrize(
    "environ", [{}, {"TERM": "dumb"}, {"TERM": "xterm", "CI": "1"}, {"TERM": "xterm", "ORCHESTRATE_TUI": "0"}], ids=str
)
def test_there_is_no_screen_in_ci_on_dumb_terminals_and_where_nobody_wants_one(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    assert not can_show_dashboard(environ)


def test_a_log_that_cannot_be_written_is_missed_and_ends_nothing() -> None:
    script = """
import logging, warnings
from pathlib import Path
from orchestrator.cli.dashboard.screen import log_to_run
from orchestrator.journal.locations.run_directory import RunDirectory
log_to_run(RunDirectory(Path("/nowhere/at/all")))
warnings.warn("missed")
logging.getLogger("x").warning("missed")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")
