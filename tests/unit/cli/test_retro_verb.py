"""Mistakes that `orchestrate retro` refuses in a line, and what it says of runs that a journal holds."""

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
    ("words", "problem"),
    [
        ((), "no run"),
        (("--run", "7f3a"), "no run"),
        (("--runs", "0"), "0 is not in the range"),
        (("--runs", "3", "--run", "7f3a"), "give one of the two"),
        (("--set", "prompts.dir=/nowhere"), "dir under [prompts]"),
        (("--out", "repo/out"), "lies in the checkout"),
        (("--budget-usd", "0"), "no call could be made"),
    ],
)
def test_a_mistake_is_refused_without_a_traceback(words: tuple[str, ...], problem: str, tmp_path: Path) -> None:
    calculator(tmp_path / "repo")
    done = orchestrate("retro", *words, "--repo", "repo", "--state", str(tmp_path / "state"), cwd=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert problem in done.err
    assert "Traceback" not in done.err


def test_one_recorded_run_is_read_and_proposes_nothing(tmp_path: Path) -> None:
    repo, state = calculator(tmp_path / "repo"), tmp_path / "state"
    run = StateDirectory.locate_for(repo, str(state)).get_run(RUN)
    run.path.mkdir(parents=True)
    restore(DATA / "journals" / "goal.v2.jsonl", run.journal)
    done = orchestrate("retro", "--repo", str(repo), "--state", str(state), cwd=tmp_path)
    assert done.code == 0, done.err
    assert "1 run read" in done.out
    assert "nothing is proposed" in done.out
