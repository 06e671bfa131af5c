"""The order that a replay keeps to: the journal's own, but for what looked at the branch before it was recorded."""

from pathlib import Path

import pytest

from orchestrator.domain.event import Event
from orchestrator.domain.event.landing import LandingFinished, LandingStarted, TrialJudged
from orchestrator.domain.event.run import BaselineRecorded, CheckFinished, CheckStarted, IterationStarted, RunStarted
from orchestrator.domain.event.work import (
    AttemptEnded,
    AttemptStarted,
    PlanningStarted,
    TaskCreated,
    VerdictGiven,
    WorkspaceLeasing,
)
from orchestrator.domain.ids import ROOT_TASK, CommitId, RunId, TaskId, TreeId, UnitId
from orchestrator.domain.judging.check import Difference, Receipt, ReceiptStatus
from orchestrator.domain.judging.verdict import Verdict, VerdictKind
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.run.task import Attempt, Exit, Task
from orchestrator.engine.goal.planning import build_root_task
from orchestrator.journal.journal import Journal, SystemClock
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.journal.session_reader import JournalSessionReader
from orchestrator.replay.recording import RecordedRun
from orchestrator.replay.sequence.schedule import build_schedule

BASE, LANDED, TREE = CommitId("a" * 40), CommitId("b" * 40), TreeId("c" * 40)
A, B = TaskId("a"), TaskId("b")
UNITS = (UnitId("a@1"),)
BEFORE = ("the baseline", "iteration 1", "attempt 1 at a", "the end of attempt 1 at a", "the verdict on attempt 1 at a")
LANDS = ("round 1 of the queue", "the beginning of landing 1", "landing 1")


def created(name: TaskId) -> TaskCreated:
    spec = Task(id=name, parent=ROOT_TASK, depth=1, kind="leaf", title=name, outcome=name)
    return TaskCreated(task=name, spec=spec)


def begun(name: TaskId, base: CommitId) -> AttemptStarted:
    return AttemptStarted(task=name, attempt=Attempt(task=name, number=1, mode="fresh", base=base, model="m"))


def started() -> RunStarted:
    return RunStarted(
        run=RunId("r"),
        mode="goal",
        goal="g",
        started_at=SystemClock().now(),
        repository="/repo",
        base=BASE,
        base_tree=TREE,
        branch="pr",
        target="main",
        settings={},
    )


def receipt() -> Receipt:
    """The gate's receipt on the one tree of this run."""
    told = {"check": "gate", "command": "make", "tree": TREE, "environment": "e", "exit_code": 0, "seconds": 1.0}
    return Receipt.model_validate({"key": "check~0", "status": ReceiptStatus.COMPLETED} | told)


async def recording(place: Path, *meanwhile: Event) -> RecordedRun:
    """A run in which this happens while `a` is landing; a process that was killed had begun the landing before."""
    journal = Journal(place, SystemClock())
    landing = {"branch": "pr", "new": LANDED, "tree": TREE, "units": UNITS}
    await journal.append(
        started(),
        CheckStarted(key="check~0", check="gate", tree=TREE, purpose="baseline"),
        CheckFinished(key="check~0", receipt=receipt()),
        BaselineRecorded(receipts=("check~0",)),
        IterationStarted(number=1),
        TaskCreated(task=ROOT_TASK, spec=build_root_task("g")),
        created(A),
        created(B),
        begun(A, BASE),
        AttemptEnded(task=A, number=1, exit=Exit.FINISHED),
        VerdictGiven(task=A, number=1, verdict=Verdict(kind=VerdictKind.MERGE, reasons=(), receipts=())),
        TrialJudged(round="round 1", units=UNITS, tree=TREE, difference=Difference(), cached=False),
        LandingStarted(key="land~0", old=None, **landing),
        LandingStarted(key="land~1", old=None, **landing),
        *meanwhile,
        LandingFinished(key="land~1", **landing),
    )
    journal.close()
    return await RecordedRun.from_reader(JournalSessionReader(RunDirectory(place)))


@pytest.mark.parametrize(
    ("base_of_b", "last"),
    [
        (BASE, ("attempt 1 at b", *LANDS)),
        (LANDED, (*LANDS, "attempt 1 at b")),
    ],
)
async def test_an_attempt_stands_where_it_looked_at_the_branch(
    tmp_path: Path, base_of_b: CommitId, last: tuple[str, ...]
) -> None:
    schedule = build_schedule(await recording(tmp_path, begun(B, base_of_b)))
    assert schedule.names == (*BEFORE, *last)
    assert [(one.name, one.units) for one in schedule.rounds] == [("round 1 of the queue", UNITS)]
    assert schedule.superseded == {"round 1 of the queue": frozenset({"landing 1"})}


async def test_a_planner_who_looked_at_the_branch_just_before_the_end_of_a_landing_begins_after_it(
    tmp_path: Path,
) -> None:
    purpose = Purpose.for_planning(ROOT_TASK)
    leasing = WorkspaceLeasing(key="w~0", commit=LANDED, purpose=purpose.text, facts=purpose.facts)
    recorded = await recording(tmp_path, PlanningStarted(task=ROOT_TASK, round=1), leasing)
    planning = "round 1 of the planner of root"
    last = (*LANDS, planning, f"a workspace for {planning}")
    assert build_schedule(recorded).names == (*BEFORE, *last)
