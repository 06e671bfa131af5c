"""Several workers try one task independently, and one result lands."""

import pytest

from orchestrator.app.replay_models import ReplayOptions
from orchestrator.app.run_execution import RunExit
from orchestrator.domain.event.work import AttemptStarted, RivalChosen
from orchestrator.domain.ids import TaskId
from orchestrator.domain.run.task import EndCause, TaskStatus
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.llm.scripted_model.script import ScriptedReply
from orchestrator.project.options import Options
from orchestrator.replay.comparison.report_text import render_report
from orchestrator.report.run.outcome_sentence import describe_run_outcome
from orchestrator.scratch_runs.replay import replay_run
from tests.running.goals import Bench, status, task
from tests.running.scripts import edits, judges, planner_ends, plans, reviews, uses, worker_ends, writes

pytestmark = pytest.mark.sandbox

TRIES = plans("root", {"key": "a", "best_of": 2, "paths": ["a.txt"]}, {"key": "after", "depends_on": ["a"]})
ONE_AT_A_TIME = {"max_workers": 1, "max_attempts": 1}


def try_task(name: str, text: str) -> list[ScriptedReply]:
    """A worker writes its own version of the file, reports, and is approved."""
    return [writes(name, "a.txt", text), worker_ends(name), reviews(name)]


def list_choices(ended: RunExit) -> list[RivalChosen]:
    """The choices that were made."""
    events = [one.event for one in read_all_events(ended.directory.journal)]
    return [event for event in events if isinstance(event, RivalChosen)]


async def test_the_judge_chooses_among_what_passed_and_what_depends_on_it_begins_then(bench: Bench) -> None:
    ended = await bench.run(
        TRIES,
        *try_task("a", "long and winding\n"),
        *try_task("a-2", "short\n"),
        uses("judge", "a", "submit_verdict", chosen="a-3", reasons=["it is best"]),
        uses("judge", "a", "submit_verdict", chosen="a-2", reasons=["a.txt:1 is plainer"]),
        *task("after"),
        planner_ends(),
        judges(),
        run=ONE_AT_A_TIME,
    )
    assert [status(ended, name) for name in ("a", "a-2", "after")] == [
        TaskStatus.CANCELLED,
        TaskStatus.MERGED,
        TaskStatus.MERGED,
    ]
    first, after = ended.state.tasks[TaskId("a")], ended.state.tasks[TaskId("after")]
    assert (first.cause, after.spec.depends_on) == (EndCause.NOT_CHOSEN, ("a-2",))
    assert [(one.chosen, one.reasons) for one in list_choices(ended)] == [("a-2", ("a.txt:1 is plainer",))]
    assert "all 2 tasks landed" in describe_run_outcome(ended.state)
    options = Options(bench.repository, {"state": {"dir": str(bench.root / "state")}})
    report = await replay_run(options, None, ReplayOptions())
    assert (report.is_same, report.is_whole) == (True, True), "\n".join(render_report(report))


async def test_the_one_rival_that_passed_lands_without_a_question(bench: Bench) -> None:
    ended = await bench.run(
        TRIES,
        edits("a", "calc.py", "    return a + b\n", "    return a - b\n"),
        worker_ends("a"),
        *try_task("a-2", "short\n"),
        *task("after"),
        planner_ends(),
        judges(),
        run=ONE_AT_A_TIME,
    )
    assert [status(ended, name) for name in ("a", "a-2", "after")] == [
        TaskStatus.REJECTED,
        TaskStatus.MERGED,
        TaskStatus.MERGED,
    ]
    assert [(one.chosen, one.model) for one in list_choices(ended)] == [("a-2", "")]
    begun = [one.event for one in read_all_events(ended.directory.journal) if isinstance(one.event, AttemptStarted)]
    assert [one.attempt.task for one in begun] == ["a", "a-2", "after"]
