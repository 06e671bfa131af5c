"""The queue as rows: gate by gate, what waits, is tried, landed or was ejected; shards; and the judge's report."""

from orchestrator.domain.commands.definitions import RollbackShards
from orchestrator.domain.event import Event
from orchestrator.domain.event.landing import TrialJudged, UnitEjected
from orchestrator.domain.event.people import ApprovalRequested, CommandTaken
from orchestrator.domain.event.run import BaselineRecorded, CheckFinished, CheckStarted
from orchestrator.domain.event.work import SessionEnded
from orchestrator.domain.ids import SessionId, TaskId, TreeId, UnitId
from orchestrator.domain.judging.check import Difference, Receipt, ReceiptStatus, TestCounts
from orchestrator.domain.judging.verdict import LensVote, PointFinding
from orchestrator.domain.run.approval import Approval
from orchestrator.domain.run.task import EndCause, Exit
from orchestrator.report.rows.activity import Activity
from orchestrator.report.rows.queue_gates import GateStatus
from orchestrator.report.rows.queue_rows import MOST_ENDED, build_queue_rows, render_queue_line
from orchestrator.report.task.receipt import CheckLog
from orchestrator.tui.rows.shard_rows import build_shard_rows, render_shards_line
from orchestrator.tui.screens.report import render_judge_lines
from tests.running import migrated
from tests.running.goal_events import DAY, asks, created, ended, judged, landed, merged, recorded, told, worked


def checked(tree: str, number: int, passed: int, failed: int = 0, purpose: str = "") -> list[Event]:
    """The gate runs on a tree."""
    key = f"check/gate/{number}~0"
    receipt = Receipt(
        key=key,
        check="gate.1",
        command="pytest",
        tree=TreeId(tree),
        environment="e",
        status=ReceiptStatus.COMPLETED,
        exit_code=int(failed > 0),
        seconds=1.0,
        counts=TestCounts(passed=passed, failed=failed),
    )
    started = CheckStarted(key=key, check="gate", tree=TreeId(tree), purpose=purpose)
    return [started, CheckFinished(key=key, receipt=receipt)]


BASE = [*checked("c" * 40, 0, 12), BaselineRecorded(receipts=("check/gate/0~0",))]
CONFLICT = UnitEjected(round="round 1", unit=UnitId("a@1"), conflict=("calc.py",))
RED = UnitEjected(
    round="round 1", unit=UnitId("a@1"), difference=Difference(new_failures=("t1", "t2")), partners=(UnitId("b@1"),)
)


def test_gates_fill_one_after_the_other() -> None:
    check = CheckStarted(key="check/gate/1~0", check="gate", tree=TreeId("a@1"), purpose="a attempt 1")
    first = [*BASE, created("a"), *worked("a")]
    assert build_queue_rows(told(*first, check))[0].gates["tests"] == GateStatus("now", "gate")
    done = checked("a@1", 1, 11, 1, "a attempt 1")
    review = asks("review:a@1", "a", "judge")
    row = build_queue_rows(told(*first, *done, *review))[0]
    assert (row.gates["rules"], row.gates["tests"]) == (GateStatus("ok"), GateStatus("ok", "11/12"))
    assert (row.gates["review"], row.gates["union"], row.activity) == (
        GateStatus("now", "diff"),
        GateStatus(),
        Activity.JUDGE,
    )
    votes = (LensVote(lens="diff", model="m", decision="approve"), LensVote(lens="code", model="m", decision="revise"))
    over = SessionEnded(task=TaskId("a"), session=SessionId("review:a@1"), exit=Exit.FINISHED)
    verdict = judged("a", "revise", votes=votes, reasons=("no",), receipts=("check/gate/1~0",))
    row = build_queue_rows(told(*first, *done, *review, over, verdict))[0]
    assert (row.gates["review"], row.activity, row.note) == (GateStatus("bad", "code"), Activity.RETRY, "revise: no")


def test_tests_that_are_red_are_the_gate_that_refused() -> None:
    verdict = judged("a", "revise", cause=EndCause.RED_TESTS, receipts=("check/gate/1~0",))
    row = build_queue_rows(told(*BASE, created("a"), *worked("a"), *checked("a@1", 1, 10, 2), verdict))[0]
    assert (row.gates["tests"], row.gates["review"]) == (GateStatus("bad", "10/12"), GateStatus())


def test_what_waits_has_a_place_and_is_tried_while_the_queue_tests() -> None:
    waiting = [event for name in "ab" for event in (created(name), *worked(name), judged(name, "merge"))]
    assert [(row.unit, row.place, row.activity) for row in build_queue_rows(told(*waiting))] == [
        ("a@1", 1, Activity.MERGE),
        ("b@1", 2, Activity.MERGE),
    ]
    union = CheckStarted(key="check/gate/1~0", check="gate", tree=TreeId("u"), purpose="queue round 1")
    rows = build_queue_rows(told(*waiting, union))
    assert [(row.activity, row.gates["union"].mark) for row in rows] == [(Activity.TEST, "now")] * 2


def test_what_waits_for_a_person_says_so() -> None:
    asked = ApprovalRequested(approval=Approval(item="landing/a@1", matter="landing", subject="a@1", title="land a"))
    row = build_queue_rows(told(created("a"), *worked("a"), judged("a", "merge"), asked))[0]
    assert (row.activity, row.gates["person"].mark) == (Activity.ASK, "ask")


def test_what_landed_or_was_ejected_stays_with_why_and_when() -> None:
    events = [
        *(created("a"), *worked("a"), judged("a", "merge"), RED),
        *(*worked("a", 2, mode="restart"), judged("a", "merge", 2), *landed("a@2")),
    ]
    state = told(*events)
    rows = build_queue_rows(state, recorded([*[created("x")] * 3, *events]))
    assert [(row.unit, row.attempt, row.activity) for row in rows] == [
        ("a@2", 2, Activity.DONE),
        ("a@1", 1, Activity.FAIL),
    ]
    assert rows[1].note == "breaks 2 tests together with b@1: t1, t2"
    assert rows[0].at is not None and rows[1].at is not None and rows[0].at > rows[1].at
    assert render_queue_line(state).endswith("at 2222222222  1 landed  1 ejected")


def test_of_very_much_that_landed_the_newest_is_listed() -> None:
    events = [event for n in range(MOST_ENDED + 5) for event in (created(f"t{n}"), *merged(f"t{n}"))]
    rows = build_queue_rows(told(*events))
    assert (len(rows), rows[0].task) == (MOST_ENDED, f"t{MOST_ENDED + 4}")


def test_the_judges_report_tells_votes_point_by_point_and_the_tests_before_and_after() -> None:
    vote = LensVote(
        lens="diff",
        model="m",
        decision="reject",
        reasons=("it drops\nthe TLS path",),
        findings=(PointFinding(id="A1", met=False), PointFinding(id="outcome", met=True, evidence=("a.py:3",))),
    )
    state = told(
        *BASE,
        *(created("a", acceptance=("TLS stays",)), *worked("a"), *checked("a@1", 1, 10, 2)),
        judged("a", "reject", cause=EndCause.REFUSED_BY_REVIEW, votes=(vote,), receipts=("check/gate/1~0",)),
        ended("a", "rejected", "no", EndCause.REFUSED_BY_REVIEW),
    )
    told_lines = "\n".join(render_judge_lines(state, state.tasks[TaskId("a")], 1, CheckLog(), lambda sha: b""))
    for words in (
        *("verdict: reject, refused-by-review", "diff lens (m): reject", "  it drops\n        the TLS path"),
        *("  NOT met  TLS stays\n      shown by no evidence", "  met  a\n      shown by a.py:3"),
        *("before, on the base: gate: 12 passed, 0 failed", "\nreceipt check/gate/1~0\n"),
    ):
        assert words in told_lines


def test_the_judges_report_of_an_ejected_unit_names_the_unions_it_was_tried_in() -> None:
    trial = TrialJudged(
        round="round 1",
        units=(UnitId("a@1"), UnitId("b@1")),
        tree=TreeId("u"),
        difference=Difference(new_failures=("t1",)),
        cached=False,
    )
    state = told(created("a"), *worked("a"), judged("a", "merge"), trial, CONFLICT)
    lines = list(render_judge_lines(state, state.tasks[TaskId("a")], 1, CheckLog(), lambda sha: b""))
    assert "  round 1: red with 1 others" in lines
    assert "ejected: conflicts in calc.py" in lines


def test_shards_stand_in_the_order_of_what_happens_to_them() -> None:
    state = migrated.told()
    rows = {row.name: row for row in build_shard_rows(state, migrated.recorded(migrated.story()))}
    order = [(row.name, row.activity) for row in rows.values()]
    assert order == [("sample", Activity.STOP), ("app", Activity.DONE), ("lib", Activity.DONE)]
    assert (rows["app"].landed, rows["app"].files, rows["app"].failed, rows["app"].wave) == (1, 3, 1, 2)
    assert rows["sample"].note == "taken back"
    assert rows["lib"].at is not None
    assert render_shards_line(state).startswith("wave 2 (sweep)  2 of 3 shards landed  1 rolled back")


def test_a_shard_that_is_to_be_taken_back_says_who_wants_that() -> None:
    command = CommandTaken(key="k", by="ada", sent_at=DAY, command=RollbackShards(shards=("lib",), reason="too early"))
    row = next(row for row in build_shard_rows(migrated.told(command)) if row.name == "lib")
    assert (row.activity, "ada" in row.note, "too early" in row.note) == (Activity.RETRY, True, True)
