"""What a job tells of its end: nothing is green without a result, and nothing is said to go on that would not."""

import json
from pathlib import Path

import pytest

from orchestrator.ci.job_outputs import JobResult, build_job_result, has_result, write_outputs, write_summary
from orchestrator.ci.lease import LeaseRecord
from orchestrator.domain.event.run import RunPaused
from orchestrator.domain.ids import RunId
from orchestrator.domain.run.contract import Contract, Criterion, CriterionFinding, IterationVerdict
from orchestrator.domain.run.state import RunState
from orchestrator.errors import EnvironmentProblem
from orchestrator.report.run.model import GroupPullRequest
from orchestrator.report.run.result import build_run_result
from tests.running.kept_runs import kept_run

TICKET = LeaseRecord(key="issue-12", run=RunId("20261120-101705-7f3a"), hop=2, max_hops=20)


@pytest.fixture
def done(tmp_path: Path) -> RunState:
    """A run that ended well, with a pull request."""
    state, _ = kept_run("goal.v2", tmp_path)
    assert state.ended is not None
    state.ended = state.ended.model_copy(update={"outcome": "done", "exit": 0})
    return state


@pytest.fixture
def stopped(done: RunState) -> RunState:
    """The same before its end, when a limit was reached after 100 s of work."""
    done.ended, done.paused = None, RunPaused(reason="a limit", exit=5)
    done.epoch_at, done.earlier_s = None, 100.0
    return done


def end(state: RunState, until_s: float | None = None, ticket: LeaseRecord = TICKET) -> JobResult:
    return build_job_result(state, Path("journal.db"), ticket, until_s)


def test_a_run_that_ended_well_with_a_pull_request_is_green(done: RunState) -> None:
    told = end(done)
    assert (told.exit, told.status, told.is_resumable) == (0, "done", False)
    assert told.prs and told.build_outputs()["prs"] == json.dumps(told.prs)


def test_without_a_pull_request_a_run_that_ended_well_is_red(done: RunState) -> None:
    done.pr, done.migration.prs = None, {}
    told = end(done)
    assert (told.exit, told.build_outputs()["exit"]) == (4, "4")
    assert told.reason.startswith("there is no pull request, nor evidence that nothing had to change")


@pytest.mark.parametrize(("met", "is_green"), [(True, True), (False, False), (None, False)])
def test_that_nothing_had_to_change_must_be_shown_by_every_criterion(
    done: RunState, met: bool | None, is_green: bool
) -> None:
    done.pr, done.migration.prs, done.landings = None, {}, []
    done.goal.contract = Contract(criteria=(Criterion(id="a", text="a"), Criterion(id="b", text="b")))
    findings = [CriterionFinding(id="a", met=True, evidence="seen")]
    findings += [CriterionFinding(id="b", met=met, evidence="seen")] if met is not None else []
    done.goal.iterations = (IterationVerdict(decision="done", findings=tuple(findings)),)
    assert has_result(done) is is_green
    assert end(done).exit == (0 if is_green else 4)


def test_without_any_criterion_nothing_is_shown(done: RunState) -> None:
    done.pr, done.migration.prs, done.landings, done.goal.contract = None, {}, [], None
    assert end(done).exit == 4


def test_only_a_job_whose_time_was_over_is_gone_on_with(stopped: RunState) -> None:
    assert end(stopped, until_s=100.0).is_resumable
    assert not end(stopped, until_s=200.0).is_resumable  # it was the budget, or the recipe's own limit
    assert not end(stopped, until_s=None).is_resumable
    assert end(stopped, until_s=100.0).exit == 5


@pytest.mark.parametrize("code", [6, 7, 75, 130, 143])
def test_what_another_job_would_not_mend_is_not_gone_on_with(stopped: RunState, code: int) -> None:
    stopped.paused = RunPaused(reason="something else", exit=code)
    assert (end(stopped, until_s=100.0).is_resumable, end(stopped).exit) == (False, code)


def test_a_run_whose_engine_died_without_a_word_is_paused_and_red(stopped: RunState) -> None:
    stopped.paused = None
    assert (end(stopped, 100.0).status, end(stopped, 100.0).exit, end(stopped, 100.0).is_resumable) == (
        "paused",
        1,
        False,
    )


def test_the_last_job_that_may_work_on_a_run_is_not_gone_on_with(stopped: RunState) -> None:
    assert not end(stopped, 100.0, TICKET.model_copy(update={"hop": 20})).is_resumable


def test_outputs_are_one_line_each_whatever_they_hold(tmp_path: Path) -> None:
    file = tmp_path / "output"
    file.write_text("earlier=1\n")
    hostile = JobResult("paused", 5, key="k\nexit=0\r\nstatus=done", is_resumable=True)
    write_outputs({"GITHUB_OUTPUT": str(file)}, hostile.build_outputs())
    lines = file.read_text().splitlines()
    assert [line.partition("=")[0] for line in lines] == ["earlier", *hostile.build_outputs()]
    assert "exit=5" in lines and "resumable=true" in lines


def test_all_of_many_pull_requests_are_told_as_json(done: RunState, tmp_path: Path) -> None:
    prs = tuple(
        GroupPullRequest(
            forge="f", ref=str(n), url=f"https://forge.test/o/r/pull/{n}", group=str(n), branch="b", head="h"
        )
        for n in range(300)
    )
    result = build_run_result(done, Path("journal.db"))
    spent = result.spent.model_copy(update={"usd": 1.25, "usd_known": 1.25})
    result = result.model_copy(update={"prs": prs, "pr": None, "spent": spent})
    told = JobResult("partial", 3, result=result)
    write_outputs({"GITHUB_OUTPUT": str(tmp_path / "output")}, told.build_outputs())
    outputs = dict(line.split("=", 1) for line in (tmp_path / "output").read_text().splitlines())
    assert json.loads(outputs["prs"]) == [pr.url for pr in prs]
    assert outputs["cost_usd"] == "1.2500"


def test_a_cost_that_is_known_in_part_is_told_as_unknown(done: RunState) -> None:
    result = build_run_result(done, Path("journal.db"))
    spent = result.spent.model_copy(update={"usd": None, "usd_known": 1.25})
    job = JobResult("done", 0, result=result.model_copy(update={"spent": spent}))
    assert job.build_outputs()["cost_usd"] == "unknown"


def test_a_ci_system_that_takes_no_outputs_is_told_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_outputs({}, JobResult("done", 0).build_outputs())
    write_summary({}, "text")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentProblem, match=r"nowhere/output cannot be written: No such file"):
        write_outputs({"GITHUB_OUTPUT": str(tmp_path / "nowhere" / "output")}, {"a": "b"})
