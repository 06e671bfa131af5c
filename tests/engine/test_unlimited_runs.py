"""What a run may cost: 0 is refused, `unlimited` is a word, and a run without a limit says so."""

import json
from pathlib import Path

import pytest

from tests.running.goals import one
from tests.running.in_process import orchestrate
from tests.running.projects import GATE, calculator
from tests.running.scripts import write_script

pytestmark = pytest.mark.sandbox
NO_BUDGET = "no budget: nothing bounds what the run may cost"


@pytest.fixture
def words(tmp_path: Path) -> tuple[str, ...]:
    model = write_script(tmp_path / "script.json", one("a"))
    models = [word for role in ("planner", "worker", "judge") for word in ("--model", f"{role}={model}")]
    config = tmp_path / ".config" / "orchestrate" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("[budget]\nusd = 5\n")
    where = ("--repo", str(calculator(tmp_path / "repo")), "--state", str(tmp_path / "state"))
    return ("run", "make it better", "--gate", GATE, "--set", "gate.report=unittest", *models, *where)


def test_zero_dollars_are_refused_and_nothing_is_started(words: tuple[str, ...], tmp_path: Path) -> None:
    done = orchestrate(*words, "--budget-usd", "0", cwd=tmp_path)
    assert (done.code, "give an amount above 0, or unlimited" in done.err) == (2, True), done.err
    assert not (tmp_path / "state").exists()


def test_a_run_under_a_limit_shows_it(words: tuple[str, ...], tmp_path: Path) -> None:
    done = orchestrate(*words, cwd=tmp_path)
    assert (done.code, NO_BUDGET in done.err) == (0, False), done.err
    assert "budget: $0.00 of $5.00" in orchestrate("status", *words[-4:], cwd=tmp_path).out


def test_the_word_goes_over_a_configured_limit_and_the_run_says_that_it_has_none(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    done = orchestrate(*words, "--budget-usd", "unlimited", cwd=tmp_path)
    assert (done.code, NO_BUDGET in done.err) == (0, True), done.err
    assert "budget: unlimited" in orchestrate("status", *words[-4:], cwd=tmp_path).out


def test_a_run_without_a_limit_tells_what_earlier_ones_cost_at_its_start_and_in_status(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    assert orchestrate(*words, cwd=tmp_path).code == 0
    write_script(tmp_path / "script.json", one("a")[:2])
    stopped = orchestrate(*words, "--budget-usd", "unlimited", cwd=tmp_path)
    assert stopped.code != 0, stopped.err
    assert "the last run of this repository that ended cost" in stopped.err
    status = json.loads(orchestrate("status", "--json", *words[-4:], cwd=tmp_path).out)
    assert (status["unlimited"], status["earlier"]["runs"]) == (True, 1)
    text = orchestrate("status", *words[-4:], cwd=tmp_path).out
    assert "no budget bounds its dollars, tokens or calls; the last run" in text
    assert f"orchestrate resume {status['run']} --budget-usd 20" in text


def test_a_resume_refuses_zero_and_says_that_a_run_has_no_limit_any_more(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    where = words[-4:]
    stopped = orchestrate(*words, "--set", "budget.calls=2", cwd=tmp_path)
    assert (stopped.code, "--set budget.KEY=N" in stopped.err) == (5, True), stopped.err
    for zero in ("--budget-usd=0", "--set=budget.usd=0", "--set=budget.leaf.tokens=0"):
        refused = orchestrate("resume", zero, *where, cwd=tmp_path)
        assert (refused.code, "no call could be made" in refused.err) == (2, True), refused.err
    limits = ("--budget-usd", "unlimited", "--set", "budget.calls=unlimited")
    done = orchestrate("resume", *limits, *where, cwd=tmp_path)
    assert (done.code, NO_BUDGET in done.err) == (0, True), done.err
