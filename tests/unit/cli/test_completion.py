"""Completion in a shell: verbs, runs, tasks and files, without importing what is slow."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from orchestrator.journal.locations.run_directory import StateDirectory
from orchestrator.journal.state.derivation import read_state
from orchestrator.journal.storage.checksums import compute_text_sum
from orchestrator.report.run.result import render_status_json
from tests.running.cli import environment
from tests.running.in_process import orchestrate
from tests.unit.cli.test_run_targets import LATEST, OLDER, Shop

HEAVY = ("litellm", "textual", "pydantic", "jinja2", "orchestrator.report", "orchestrator.engine")
COMPLETE = "_ORCHESTRATE_COMPLETE"


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """A repository with two runs, of which an engine has kept the status beside the journal of the latest."""
    shop = Shop(tmp_path, OLDER, LATEST)
    journal = StateDirectory.locate_for(shop.root, str(shop.state)).get_run(LATEST).journal  # type: ignore[arg-type]
    state = read_state(journal)
    body, at = render_status_json(state, journal), "2026-01-01T00:00:00+00:00"
    with closing(sqlite3.connect(journal)) as connection, connection:
        row = ("status", state.seq, at, body, compute_text_sum("status", state.seq, at, body))
        connection.execute("INSERT INTO projection VALUES(?, ?, ?, ?, ?)", row)
    return shop


def complete(shop: Shop, line: str) -> list[str]:
    """The words that can follow; `line` ends in the beginning of one, or in a space."""
    asked = {COMPLETE: "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)}
    done = orchestrate(cwd=shop.root, env={**environment(shop.root), **asked})
    assert done.code == 0, done.err
    return [word.removeprefix("plain,") for word in done.out.splitlines()]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("orchestrate sh", ["show"]),
        ("orchestrate migrate sta", ["status"]),
        ("orchestrate hosts c", ["certs", "cordon"]),
        ("orchestrate hosts status --state {state} ", ["latest", LATEST, OLDER]),
        ("orchestrate hosts drain --state {state} ", ["latest", LATEST, OLDER]),
        ("orchestrate status --state {state} ", ["latest", LATEST, OLDER]),
        ("orchestrate show --state {state} rep", ["reporting", "reporting/monthly", "reporting/csv"]),
        ("orchestrate retry --state {state} latest inv", ["invoice"]),
        ("orchestrate show --state={state} latest disc", ["discounts"]),
        ("orchestrate show --state {state} ghost d", []),
        ("orchestrate status --js", ["--json"]),
    ],
)
def test_the_word_is_completed_by_what_can_stand_there(shop: Shop, line: str, words: list[str]) -> None:
    assert complete(shop, line.format(state=shop.state)) == words


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_calls_the_program_and_says_where_it_goes(tmp_path: Path, shell: str) -> None:
    done = orchestrate("completion", shell, cwd=tmp_path)
    assert (done.code, f"{COMPLETE}={shell}_complete" in done.out) == (0, True)
    assert done.out.splitlines()[-1].startswith("# Save this as ~/")


def test_the_script_for_bash_is_one_that_bash_can_read(tmp_path: Path) -> None:
    script = orchestrate("completion", "bash", cwd=tmp_path).out
    read = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True, check=False)
    assert (read.returncode, read.stderr) == (0, "")


def test_completion_imports_nothing_that_is_slow(shop: Shop) -> None:
    program = f"""
import sys
from orchestrator.cli.completion import find_completions
from orchestrator.cli.main import cli
assert find_completions(cli, ["show", "--state", {str(shop.state)!r}], "disc")
sys.exit(", ".join(name for name in {HEAVY!r} if name in sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=shop.root, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "\n")
