"""The plan tree as rows: in the order of the tree, with what is done below each branch, folded and filtered."""

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.event.people import ApprovalRequested
from orchestrator.domain.event.run import CheckStarted, RunEnded
from orchestrator.domain.ids import ROOT_TASK, TaskId, TreeId
from orchestrator.domain.run.approval import Approval
from orchestrator.domain.run.state import RunState
from orchestrator.domain.run.task import EndCause
from orchestrator.report.rows.activity import Activity
from orchestrator.report.rows.row_filter import parse_filter
from orchestrator.tui.rows.plan_tree import PLAN_KEYS, PlanTree
from orchestrator.tui.rows.state_counts import count_states
from tests.running.goal_events import asks, created, ended, judged, merged, told, worked


def plan() -> RunState:
    return told(
        created("store", kind="branch"),
        created("cli"),
        created("store/disk", "store"),
        created("store/net", "store", depends_on=("cli",)),
        created("late", depends_on=("store", "cli")),
        *asks("work:store/disk@1", "store/disk", "worker", "0.30"),
        *merged("store/disk"),
        *worked("cli"),
    )


def test_rows_come_in_the_order_of_the_tree_with_what_is_done_below_each() -> None:
    rows = PlanTree(plan()).build_rows()
    assert [(row.id, row.depth, row.done, row.total) for row in rows] == [
        ("root", 0, 1, 4),
        ("store", 1, 1, 2),
        ("store/disk", 2, 1, 1),
        ("store/net", 2, 0, 1),
        ("cli", 1, 0, 1),
        ("late", 1, 0, 1),
    ]
    assert {row.id: row.price for row in rows if row.price} == {
        "root": "$0.30",
        "store": "$0.30",
        "store/disk": "$0.30",
    }


def test_what_has_to_land_first_is_named_until_it_has() -> None:
    rows = {row.id: row.blocked_text for row in PlanTree(plan()).build_rows()}
    assert (rows["store/net"], rows["late"], rows["cli"]) == ("needs cli", "needs store, cli", "")


def test_only_blocked_shows_what_waits_below_the_branches_above_it() -> None:
    state = plan()
    assert [row.id for row in PlanTree(state).build_rows(only_blocked=True)] == ["root", "store", "store/net", "late"]


def test_what_asks_a_person_is_blocked_and_says_so() -> None:
    asked = ApprovalRequested(approval=Approval(item="tier/cli/2", matter="tier", subject="cli/2", title="network"))
    state = told(created("cli"), *worked("cli")[:1], asked)
    row = PlanTree(state).build_rows(only_blocked=True)[-1]
    assert (row.id, row.activity, row.note) == ("cli", Activity.ASK, "waits for your answer: q1 tier/cli/2")


def test_a_candidate_whose_tree_is_tested_is_testing_not_judged() -> None:
    check = CheckStarted(key="check/1~0", check="gate", tree=TreeId("cli@1"), purpose="cli attempt 1")
    row = PlanTree(told(created("cli"), *worked("cli"), check)).build_rows()[-1]
    assert (row.activity, row.note) == (Activity.TEST, "testing: gate")


def test_why_a_task_did_not_land_and_what_a_worker_is_told_again_is_shown() -> None:
    again = worked("cli", 2, mode="revise", feedback=("two tests fail",))[:1]
    state = told(
        created("cli"),
        *worked("cli"),
        judged("cli", "revise", reasons=("two tests fail",)),
        *again,
        created("net"),
        *worked("net"),
        judged("net", "reject", reasons=("drops TLS",)),
        ended("net", "rejected", "drops\nTLS", EndCause.REFUSED_BY_REVIEW),
    )
    rows = {row.id: row for row in PlanTree(state).build_rows()}
    assert (rows["cli"].activity, rows["cli"].note, rows["cli"].attempts) == (
        Activity.RUN,
        "after attempt 1: two tests fail",
        2,
    )
    assert (rows["net"].activity, rows["net"].cause, rows["net"].note) == (
        Activity.FAIL,
        "refused-by-review",
        "drops TLS",
    )


def test_what_is_left_open_when_the_run_ends_has_stopped() -> None:
    state = told(created("cli"), RunEnded(outcome="partial", reason="", exit=3, head=None))
    assert PlanTree(state).build_rows()[-1].activity == Activity.STOP


def test_a_task_that_was_divided_anew_counts_no_more() -> None:
    state = told(created("big"), *worked("big"), judged("big", "split"), ended("big", "split", "too large"))
    assert (PlanTree(state).build_rows()[0].done, PlanTree(state).build_rows()[0].total) == (0, 0)


def test_a_filter_keeps_what_fits_below_all_that_is_above_it() -> None:
    rows = PlanTree(plan()).build_rows(folded={TaskId("store")}, wanted=parse_filter("state:done kind:leaf", PLAN_KEYS))
    assert [row.id for row in rows] == ["root", "store", "store/disk"]


def test_an_unknown_price_is_never_shown_as_nothing() -> None:
    state = told(created("cli"), *asks("work:cli@1", "cli", "worker", None))
    assert [row.price for row in PlanTree(state).build_rows()] == ["unknown", "unknown"]
    assert PlanTree(state).build_rows(wanted=parse_filter("cost:<1", PLAN_KEYS)) == []


def test_the_title_counts_leaves_by_what_they_do() -> None:
    counts = count_states(PlanTree(plan()).count_activities().items())
    assert counts == [("  1 at work", "run"), ("  2 to do", "queue"), ("  1 merged", "done")]


TREES = st.lists(st.integers(0, 30), min_size=1, max_size=40)


@given(TREES, st.sets(st.integers(0, 40)))
def test_folding_hides_exactly_what_is_below_and_changes_no_count(parents: list[int], folded: set[int]) -> None:
    names: list[str] = []
    events = []
    for number, place in enumerate(parents):
        above = names[place % len(names)] if names and place % 3 else ROOT_TASK
        name = f"t{number}" if above == ROOT_TASK else f"{above}/t{number}"
        names.append(name)
        events.append(created(name, above, "branch"))
    tree = PlanTree(told(*events))
    shut = {TaskId(names[number]) for number in folded if number < len(names)}
    whole, part = tree.build_rows(), tree.build_rows(shut)
    hidden = {name for name in names if any(name.startswith(f"{one}/") for one in shut)}
    assert [row.id for row in part] == [row.id for row in whole if row.id not in hidden]
    assert {row.id: (row.done, row.total) for row in part}.items() <= {r.id: (r.done, r.total) for r in whole}.items()
