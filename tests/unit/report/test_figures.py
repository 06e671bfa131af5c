"""Figures of a run that nothing stands behind are not told."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from orchestrator.domain.event.landing import LandingFinished, TrialJudged
from orchestrator.domain.event.run import RunPaused, RunStarted
from orchestrator.domain.ids import CommitId, RunId, TreeId, UnitId
from orchestrator.domain.judging.check import Difference, Receipt, ReceiptStatus, TestCounts
from orchestrator.domain.run.state import RunState
from orchestrator.report.run.model import RunStatus
from orchestrator.report.run.result import build_run_result
from orchestrator.report.run.status_text import render_status_lines
from orchestrator.report.run.summary import render_summary_lines
from tests.golden import DATA

BASE, HEAD = TreeId("b" * 40), TreeId("c" * 40)


def receipt(tree: TreeId, tests: str | None) -> Receipt:
    counts = TestCounts(passed=3, failed=1) if tests else TestCounts()
    return Receipt(
        key=f"check/{tree}",
        check="gate.1",
        command="make test",
        tree=tree,
        environment="e",
        status=ReceiptStatus.COMPLETED,
        exit_code=0,
        seconds=1,
        counts=counts,
        tests=tests,
    )


def state(tests: str | None, landed: Difference | None = None) -> RunState:
    started = RunStarted(
        run=RunId("r"),
        mode="migration",
        goal="x",
        started_at=datetime(2026, 1, 1, tzinfo=UTC),
        repository="/r",
        base=CommitId("a" * 40),
        base_tree=BASE,
        branch="b",
        target="main",
        settings={},
    )
    made = RunState(started=started, baseline=(f"check/{BASE}",))
    made.receipts = {found.key: found for found in (receipt(BASE, tests), receipt(HEAD, tests))}
    if landed is not None:
        new, units = CommitId("d" * 40), (UnitId("x.py"),)
        made.landings.append(LandingFinished(key="l", branch="b", new=new, tree=HEAD, units=units))
        made.trials.append(TrialJudged(round="1", units=units, tree=HEAD, difference=landed, cached=False))
    return made


@pytest.mark.parametrize(
    ("landed", "said"),
    [
        (None, ""),
        (Difference(), "; new failing tests on the branch: none"),
    ],
)
def test_the_branch_is_spoken_of_only_if_something_landed_on_it(landed: Difference | None, said: str) -> None:
    assert f"baseline: 4 tests, 1 of them red before anything changed{said}" in list(
        render_summary_lines(state("sha", landed))
    )


def test_new_failures_on_the_branch_are_those_of_the_tree_that_landed() -> None:
    lines = list(render_summary_lines(state("sha", Difference(new_failures=("t",)))))
    assert any(line.endswith("new failing tests on the branch: 1") for line in lines)


def test_counts_of_a_gate_that_tells_only_its_exit_code_are_unknown_and_not_zero() -> None:
    known, unknown = (build_run_result(state(tests, Difference()), Path("j")).gate for tests in ("sha", None))
    assert known.head == TestCounts(passed=3, failed=1)
    assert (unknown.baseline, unknown.head) == (None, None)


def test_what_a_command_printed_cannot_pass_for_the_last_words_of_a_run() -> None:
    ended = state(None)
    ended.paused = RunPaused(
        reason="must-1 is not met; it printed:\npull request (local): https://elsewhere.example", exit=7
    )
    lines = "\n".join(render_summary_lines(ended)).splitlines()
    assert lines[0] == "run r  paused: must-1 is not met; it printed:"
    assert lines[1].startswith("        pull request (local)")


def test_a_reviewers_long_words_take_one_bounded_line_of_the_status() -> None:
    status = json.loads((DATA / "journals" / "goal.v2.status.json").read_text(encoding="utf-8"))
    status["plan"][1] |= {"status": "rejected", "reason": "no\n" * 5_000}
    status["files"]["rejected"] = [{"path": "x.py", "reason": "no\n" * 5_000}]
    lines = list(render_status_lines(RunStatus.model_validate(status)))
    assert all("\n" not in line and len(line) < 400 for line in lines)
    assert sum(line.endswith("…") for line in lines) == 2
