"""A goal waits for the forge's checks of its pull request, is judged by them, and its pull request is merged or not."""

from pathlib import Path
from typing import Any

import pytest

from orchestrator.app.replay_models import ReplayOptions
from orchestrator.app.run_execution import RunExit
from orchestrator.domain.commands.definitions import Approve, Configure, Pause, Reject
from orchestrator.domain.event.forge import ChecksSeen, PrClosed
from orchestrator.domain.event.run import IterationJudged, IterationStarted, PrOpened
from orchestrator.errors import LimitReached
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.project.options import Options
from orchestrator.report.run.result import build_run_result
from orchestrator.report.run.summary import render_summary_lines
from orchestrator.run_control.control import send_command
from orchestrator.scratch_runs.replay import replay_run
from tests.running.forges import ForgeBench, MemoryForge, Says, always, check, latest, turns
from tests.running.goals import Bench, When, one, task
from tests.running.scripts import judges, planner_ends, plans

pytestmark = pytest.mark.sandbox

MERGE = {"merge": "when-green"}
RED = check("unit", "failed", summary="3 tests failed", url="https://forge.invalid/unit")
TWICE = [
    *(plans("root", {"key": "a"}), *task("a"), planner_ends(), judges()),
    *(plans("root", {"key": "b"}), *task("b"), planner_ends(), judges()),
]
"""Two iterations, of which a judge calls both done."""


def bench_with(bench: Bench, says: Says) -> ForgeBench:
    return ForgeBench(bench, MemoryForge(says))


def events(ended: RunExit, *kinds: type[Any]) -> list[Any]:
    return [one.event for one in read_all_events(ended.directory.journal) if isinstance(one.event, kinds)]


def last_words(ended: RunExit) -> str:
    return "\n".join(render_summary_lines(ended.state))


async def test_checks_are_awaited_before_the_judge_is_asked_and_what_is_green_is_merged(bench: Bench) -> None:
    unit, e2e = check("unit"), check("e2e")
    run = bench_with(bench, turns([], [check("unit", "pending")], [unit], [unit, check("e2e", "pending")], [unit, e2e]))
    ended = await run.run(*one("a"), pr=MERGE)
    assert ended.exit_code == 0, ended.error
    (pull,) = run.forge.pulls
    assert (pull.state, run.forge.merges, pull.request.commit) == ("merged", 1, ended.state.head)
    assert "every criterion of the contract is met" in pull.request.body
    told = [recorded.event.kind for recorded in read_all_events(ended.directory.journal)]
    order = ["pr.opened", "checks.seen", "iteration.judged", "merge.started", "merge.finished", "run.ended"]
    assert [told.index(kind) for kind in order] == sorted(told.index(kind) for kind in order)
    assert len(events(ended, ChecksSeen)) == 5, "one at the first look, and one for each change"
    result = build_run_result(ended.state, Path("journal.db"))
    assert result.checks is not None
    assert result.merged is not None
    assert [check.state for check in result.checks.checks] == ["passed", "passed"]
    assert (result.checks.waiting, result.merged.commit) == (False, ended.state.head)
    assert "2 checks passed" in last_words(ended)
    assert "merged: main on memory" in last_words(ended)


@pytest.mark.extended
async def test_red_checks_overrule_the_judge_and_are_told_to_the_next_iteration_which_updates_the_same_pull_request(
    bench: Bench,
) -> None:
    run = bench_with(bench, lambda commit, _: [RED] if commit == 0 else [check("unit")])
    ended = await run.run(*TWICE, pr=MERGE)
    assert ended.exit_code == 0, ended.error
    first, second = events(ended, IterationJudged)
    assert (first.verdict.decision, second.verdict.decision) == ("continue", "done")
    _, again = events(ended, IterationStarted)
    (why,) = again.reasons
    assert all(word in why for word in ("unit", "3 tests failed", "https://forge.invalid/unit"))
    (pull,) = run.forge.pulls
    assert (pull.state, pull.comments) == ("merged", [])
    assert len({opened.head for opened in events(ended, PrOpened)}) == 2


async def test_where_work_begins_anew_the_pull_request_is_closed_with_the_reason_and_another_one_opened(
    bench: Bench,
) -> None:
    run = bench_with(bench, always(check("unit")))
    items = [*TWICE[:5], judges("restart", "this fixes @nobody's problem"), *TWICE[6:]]
    ended = await run.run(*items, pr=MERGE)
    assert ended.exit_code == 0, ended.error
    old, new = run.forge.pulls
    assert (old.state, new.state, new.request.commit) == ("closed", "merged", ended.state.head)
    (comment,) = old.comments
    assert "problem" in comment
    assert "@nobody" not in comment, "nobody is called"
    assert len(events(ended, PrClosed)) == 1


async def test_red_checks_without_an_iteration_left_end_the_run_as_partial_with_their_names(bench: Bench) -> None:
    run = bench_with(bench, always(RED, check("lint")))
    ended = await run.run(*one("a"), pr=MERGE, run={"max_iterations": 1})
    assert ended.state.ended is not None
    assert (ended.exit_code, ended.state.ended.outcome) == (3, "partial")
    assert "unit failed" in ended.state.ended.reason
    assert (run.forge.merges, run.forge.pulls[0].state) == (0, "open")
    assert "unit failed" in run.forge.pulls[0].request.body
    assert "✗ unit  https://forge.invalid/unit" in last_words(ended)


async def test_checks_that_do_not_end_in_time_reject_nothing_and_a_resumed_run_waits_on(bench: Bench) -> None:
    run = bench_with(bench, always(check("unit", "pending"), check("lint")))
    ended = await run.run(*one("a"), pr={**MERGE, "checks_wait_s": 0.2})
    assert isinstance(ended.error, LimitReached)
    assert (ended.exit_code, ended.state.ended, events(ended, IterationJudged)) == (5, None, [])
    for word in ("unit", "https://forge.invalid/1", "orchestrate resume", "pr.merge=never"):
        assert word in str(ended.error)
    assert "lint" not in str(ended.error).split("Nothing is rejected")[0]
    run.forge.says = always(check("unit"), check("lint"))
    again = await run.resume(*one("a"))
    assert (again.exit_code, len(run.forge.pulls), run.forge.merges) == (0, 1, 1), again.error


async def test_a_person_can_go_on_without_the_checks_and_nothing_is_merged_then(bench: Bench) -> None:
    run = bench_with(bench, always(check("unit", "pending")))
    ended = await run.run(*one("a"), pr={**MERGE, "checks_wait_s": 0.2})
    assert ended.exit_code == 5
    send_command(RunDirectory(latest(bench)), Configure(settings={"pr": {"checks_wait_s": 0, "merge": "never"}}))
    again = await run.resume(*one("a"))
    assert (again.exit_code, run.forge.merges, len(run.forge.pulls)) == (0, 0, 1), again.error


async def test_a_forge_that_runs_no_checks_is_not_taken_for_green(bench: Bench) -> None:
    run = bench_with(bench, always())
    ended = await run.run(*one("a"), pr=MERGE)
    assert (ended.exit_code, run.forge.merges) == (0, 0)
    assert any("not merged: no checks ran" in notice.text for notice in ended.state.notices)


async def test_merging_waits_for_a_yes_where_people_are_asked_before_pull_requests(bench: Bench) -> None:
    run = bench_with(bench, always(check("unit")))
    ended = await run.run(*one("a"), pr=MERGE, approval={"mode": "pr"})
    answers = []
    while ended.exit_code == 6 and len(answers) < 3:
        (asked,) = ended.state.pending_approvals
        answers.append(asked.approval.matter)
        send_command(RunDirectory(latest(bench)), Approve(item=asked.approval.item))
        ended = await run.resume(*one("a"))
    assert (answers, ended.exit_code, run.forge.merges) == (["pull-request", "merge"], 0, 1)


@pytest.mark.parametrize(("matter", "pulls"), [("pull-request", 0), ("merge", 1)])
async def test_a_no_leaves_what_landed_as_it_is_and_ends_the_run(bench: Bench, matter: str, pulls: int) -> None:
    run = bench_with(bench, always(check("unit")))
    ended = await run.run(*one("a"), pr=MERGE, approval={"mode": "pr"})
    while ended.exit_code == 6:
        (asked,) = ended.state.pending_approvals
        item, is_it = asked.approval.item, asked.approval.matter == matter
        send_command(
            RunDirectory(latest(bench)), Reject(item=item, reason="not today") if is_it else Approve(item=item)
        )
        ended = await run.resume(*one("a"))
    assert (ended.exit_code, len(run.forge.pulls), run.forge.merges) == (0, pulls, 0)
    assert sum("rejected by" in notice.text for notice in ended.state.notices) == 1


async def test_a_run_that_waits_for_checks_can_be_paused(bench: Bench) -> None:
    run = bench_with(bench, always(check("unit", "pending")))
    pause = When("checks.seen", lambda _: send_command(RunDirectory(latest(bench)), Pause(reason="lunch")))
    ended = await run.run(*one("a"), watcher=pause, pr={"checks_poll_s": 60})
    assert (ended.exit_code, "lunch" in str(ended.error)) == (6, True)


@pytest.mark.extended
async def test_a_replay_hears_of_the_checks_what_the_run_heard(bench: Bench) -> None:
    run = bench_with(bench, lambda commit, _: [RED] if commit == 0 else [check("unit")])
    ended = await run.run(*TWICE, pr=MERGE)
    options = Options(bench.repository, {"state": {"dir": str(bench.root / "state")}})
    report = await replay_run(options, ended.state.run.run, ReplayOptions())
    assert report.divergences == ()
    assert (report.is_same, report.replayed_outcome, run.forge.merges) == (True, "done", 1)
