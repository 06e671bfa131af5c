"""Lenses in a run: who is asked what, in which order, and what their votes come to."""

import pytest

from orchestrator.app.replay_models import ReplayOptions
from orchestrator.app.run_execution import RunExit
from orchestrator.domain.event.work import SessionStarted
from orchestrator.domain.ids import TaskId
from orchestrator.domain.judging.verdict import Verdict
from orchestrator.domain.run.task import EndCause, TaskStatus
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.project.options import Options
from orchestrator.scratch_runs.replay import replay_run
from tests.running.goals import Bench, status
from tests.running.scripts import edits, judges, planner_ends, plans, reviews, worker_ends, write_script, writes

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(600)]

OLD, NEW = "    return a + b\n", "    return b + a\n"
ALL = {"lenses": {"code": {"when": "always"}, "codebase": {"view": "codebase"}}}


def verdict(ended: RunExit) -> Verdict:
    return ended.state.tasks[TaskId("sum")].verdicts[-1].verdict


def briefs(ended: RunExit) -> dict[str, str]:
    """What each reviewer was told first, by session, in the order they were asked."""
    events = (one.event for one in read_all_events(ended.directory.journal))
    return {
        event.session: event.brief.head
        for event in events
        if isinstance(event, SessionStarted) and event.session.startswith("review:")
    }


async def run(bench: Bench, *votes: str, all_of_them: bool = True) -> RunExit:
    """A run of one change, with these votes one after the other."""
    items = [
        plans("root", {"key": "sum", "acceptance": ["add() adds"]}),
        edits("sum", "calc.py", OLD, NEW),
        writes("sum", "notes/sum.txt", "the sum\n"),
        worker_ends("sum"),
        *[reviews("sum", vote, *(() if vote == "approve" else ("why",)), points=1) for vote in votes],
        *[planner_ends()] * 2,
        judges(),
    ]
    model = {"model": write_script(bench.root / "script.json", items)}
    roles = {"planner": model, "worker": model, "judge": model | (ALL if all_of_them else {})}
    return await bench.run(*items, roles=roles, run={"max_attempts": 1})


async def test_every_lens_is_asked_in_order_through_its_own_view_and_all_have_to_approve(bench: Bench) -> None:
    ended = await run(bench, "approve", "approve", "approve")
    assert status(ended, "sum") == TaskStatus.MERGED
    assert [(vote.lens, vote.decision) for vote in verdict(ended).votes] == [
        *[("diff", "approve"), ("code", "approve"), ("codebase", "approve")]
    ]
    told = briefs(ended)
    assert list(told) == ["review:sum@1", "review:sum@1/code", "review:sum@1/codebase"]
    diff, code, codebase = told.values()
    assert "-    return a + b\n+    return b + a" in diff
    assert "-     2      return a + b\n+     2      return b + a" in code
    assert "     2      return b + a" in codebase and "return a + b" not in codebase
    assert "In the same directories and at the top:\nnotes/\n.gitignore\ncalc.py\nnotes/sum.txt\n" in codebase
    report = await replay_run(
        Options(bench.repository, {"state": {"dir": str(bench.root / "state")}}), None, ReplayOptions()
    )
    assert (report.is_same, report.is_whole) == (True, True), report.divergences


async def test_the_first_lens_that_does_not_approve_ends_the_asking_and_its_veto_stands(bench: Bench) -> None:
    ended = await run(bench, "approve", "reject")
    assert [(vote.lens, vote.decision) for vote in verdict(ended).votes] == [("diff", "approve"), ("code", "reject")]
    assert (verdict(ended).kind, verdict(ended).reasons) == ("reject", ("code: why",))
    assert ended.state.landings == []


async def test_a_change_without_flags_is_reviewed_through_the_diff_alone(bench: Bench) -> None:
    ended = await run(bench, "approve", all_of_them=False)
    assert list(briefs(ended)) == ["review:sum@1"]
    assert status(ended, "sum") == TaskStatus.MERGED


async def test_a_reviewer_who_wants_the_task_divided_sends_it_back_to_its_planner(bench: Bench) -> None:
    ended = await run(bench, "split")
    task = ended.state.tasks[TaskId("sum")]
    assert (verdict(ended).kind, task.status, task.cause) == ("split", TaskStatus.SPLIT, EndCause.TOO_LARGE)
