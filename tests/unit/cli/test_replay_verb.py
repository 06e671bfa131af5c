"""Mistakes that `orchestrate replay` refuses before it replays anything."""

from pathlib import Path

import pytest

from orchestrator.domain.ids import RunId
from orchestrator.journal.locations.run_directory import StateDirectory
from tests.golden import DATA
from tests.running.in_process import orchestrate
from tests.running.projects import calculator
from tests.unit.journal.test_golden_journals import restore

RUN = RunId("20261120-131127-e989")


@pytest.mark.parametrize(
    ("pair", "problem"),
    [
        ("run.max_workers=none", "run.max_workers: Input should be a valid integer"),
        ("run.max_wokers=3", "run.max_wokers"),
        ("max_workers", "'max_workers' is not KEY=VALUE"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_in_one_line(pair: str, problem: str, tmp_path: Path) -> None:
    repo, state = calculator(tmp_path / "repo"), tmp_path / "state"
    run = StateDirectory.locate_for(repo, str(state)).get_run(RUN)
    run.path.mkdir(parents=True)
    restore(DATA / "journals" / "goal.v2.jsonl", run.journal)
    done = orchestrate("replay", RUN, "--set", pair, "--repo", str(repo), "--state", str(state), cwd=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert problem in done.err.splitlines()[-1]
    assert "Traceback" not in done.err
