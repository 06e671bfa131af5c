"""Planners are asked while their tasks are at work: when one does not land, and when enough has landed."""

import anyio
import pytest

from orchestrator.app.run_execution import RunExit
from orchestrator.domain.event import Event
from orchestrator.domain.event.landing import LandingFinished
from orchestrator.domain.event.work import (
    AttemptEnded,
    AttemptStarted,
    PlanKept,
    PlanningStarted,
    TaskEnded,
    WorkspaceLeasing,
)
from orchestrator.domain.ids import CommitId, TaskId
from orchestrator.domain.run.task import EndCause, TaskStatus
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.llm.scripted_model.script import ScriptedReply
from orchestrator.queue.pr_branch import PrBranch
from tests.running.goals import Bench, Hears, status, task
from tests.running.scripts import edits, judges, planner_ends, plans, uses, worker_ends

pytestmark = pytest.mark.sandbox

FAILS = edits("bad", "calc.py", "    return a + b\n", "    return a - b\n"), worker_ends("bad")
"""A worker breaks what worked."""
ONE_TRY = {"max_attempts": 1}


def slow(name: str, delay_s: float = 2.5) -> list[ScriptedReply]:
    """A task whose worker begins with a long thought."""
    first, *rest = task(name)
    return [first.model_copy(update={"delay_s": delay_s}), *rest]


def events(ended: RunExit) -> list[Event]:
    """All events of a run."""
    return [one.event for one in read_all_events(ended.directory.journal)]


def place(ended: RunExit, kind: type[Event], name: str, nth: int = 0) -> int:
    """Where an event about a task stands in the journal."""
    found = [at for at, one in enumerate(events(ended)) if isinstance(one, kind) and one.task == name]
    return found[nth]


async def test_a_planner_hears_at_once_of_a_rejected_task_and_plans_another_while_the_rest_is_at_work(
    bench: Bench,
) -> None:
    ended = await bench.run(
        plans("root", {"key": "bad"}, {"key": "long"}),
        *FAILS,
        *slow("long"),
        plans("root", {"key": "good"}),
        *task("good"),
        planner_ends(),
        judges(),
        run=ONE_TRY,
    )
    assert [status(ended, name) for name in ("bad", "long", "good")] == [
        TaskStatus.REJECTED,
        TaskStatus.MERGED,
        TaskStatus.MERGED,
    ]
    begun = [one.attempt.task for one in events(ended) if isinstance(one, AttemptStarted)]
    assert (set(begun[:2]), begun[2:]) == ({"bad", "long"}, ["good"])
    assert place(ended, PlanningStarted, "root", 1) < place(ended, AttemptEnded, "long")


async def test_a_planner_who_is_called_while_something_lands_begins_with_what_has_landed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    has_failed, move = anyio.Event(), PrBranch.move_to_commit

    async def move_late(branch: PrBranch, old: CommitId | None, new: CommitId, reason: str) -> None:
        await has_failed.wait()
        await anyio.sleep(0.5)  # meanwhile the planner would begin
        await move(branch, old, new, reason)

    def look(event: Event) -> None:
        if isinstance(event, TaskEnded):
            has_failed.set()

    monkeypatch.setattr(PrBranch, "move_to_commit", move_late)
    ended = await bench.run(
        *(plans("root", {"key": "bad"}, {"key": "good"}), *FAILS, *task("good")),
        *(planner_ends(), judges()),
        run=ONE_TRY,
        when=Hears(look),
    )
    landed = next(at for at, one in enumerate(events(ended)) if isinstance(one, LandingFinished))
    assert place(ended, TaskEnded, "bad") < landed < place(ended, PlanningStarted, "root", 1)
    leased = [
        one.commit for one in events(ended) if isinstance(one, WorkspaceLeasing) and one.purpose == "planning root"
    ]
    assert leased == [ended.state.run.base, ended.state.head]


async def test_a_new_task_takes_the_place_of_one_that_failed_and_what_depends_on_it_waits_for_it(bench: Bench) -> None:
    ended = await bench.run(
        plans("root", {"key": "bad"}, {"key": "after", "depends_on": ["bad"]}, {"key": "long"}),
        *FAILS,
        *slow("long"),
        plans("root", {"key": "good", "replaces": "bad"}),
        *task("good"),
        *task("after"),
        planner_ends(),
        judges(),
        run=ONE_TRY,
    )
    after = ended.state.tasks[TaskId("after")]
    assert (after.status, after.spec.depends_on) == (TaskStatus.MERGED, ("good",))
    assert [one.task for one in events(ended) if isinstance(one, TaskEnded)] == ["bad", "after"]


async def test_a_task_that_has_not_begun_is_taken_back(bench: Bench) -> None:
    ended = await bench.run(
        plans("root", {"key": "bad"}, {"key": "long"}, {"key": "next", "depends_on": ["long"]}),
        *FAILS,
        *slow("long"),
        uses(
            "planner",
            "root",
            "submit_plan",
            rationale="not needed",
            tasks=[],
            cancel=[{"key": "next", "reason": "nobody needs it"}],
        ),
        planner_ends(),
        judges(),
        run=ONE_TRY,
    )
    taken_back = ended.state.tasks[TaskId("next")]
    assert (taken_back.status, taken_back.cause) == (TaskStatus.CANCELLED, EndCause.WITHDRAWN)
    assert taken_back.reason == "its planner took it back: nobody needs it"
    assert not taken_back.attempts


@pytest.mark.extended
async def test_what_has_begun_cannot_be_taken_back_and_the_planner_may_wait_instead(bench: Bench) -> None:
    ended = await bench.run(
        plans("root", {"key": "bad"}, {"key": "long"}),
        *FAILS,
        *slow("long"),
        uses("planner", "root", "submit_plan", rationale="", tasks=[], cancel=[{"key": "long", "reason": "no"}]),
        uses("planner", "root", "wait", reason="long may still do it"),
        planner_ends(),
        judges(),
        run=ONE_TRY,
    )
    refused = [one.problems for one in events(ended) if one.kind == "plan.refused"]  # type: ignore[attr-defined]
    assert refused == [("task 'long' is at work: only what has not begun can be taken back",)]
    kept = [one for one in events(ended) if isinstance(one, PlanKept)]
    assert [(one.reason, one.handoff) for one in kept] == [("long may still do it", None)]
    assert (ended.exit_code, status(ended, "long"), status(ended, "root")) == (0, TaskStatus.MERGED, TaskStatus.DONE)


@pytest.mark.extended
async def test_a_planner_that_needs_nothing_more_is_not_asked_again_when_the_rest_lands(bench: Bench) -> None:
    ended = await bench.run(
        plans("root", {"key": "bad"}, {"key": "long"}),
        *FAILS,
        *slow("long"),
        planner_ends(summary="long is enough"),
        judges(),
        run=ONE_TRY,
    )
    root = ended.state.tasks[TaskId("root")]
    assert (ended.exit_code, root.status, root.rounds) == (0, TaskStatus.DONE, 2)
    assert root.handoff is not None
    assert root.handoff.summary == "long is enough"


async def test_a_late_handoff_with_work_left_wakes_a_planner_that_had_finished(bench: Bench) -> None:
    first, _, review = slow("long")
    ends = uses("worker", "long", "finish", summary="half of it", remaining=["the other half"])
    ended = await bench.run(
        plans("root", {"key": "bad"}, {"key": "long"}),
        *FAILS,
        first,
        ends,
        review,
        planner_ends(),
        plans("root", {"key": "rest"}),
        *task("rest"),
        planner_ends(),
        judges(),
        run=ONE_TRY,
    )
    assert (ended.exit_code, status(ended, "rest")) == (0, TaskStatus.MERGED)
    assert place(ended, PlanningStarted, "root", 2) > place(ended, PlanKept, "root")


@pytest.mark.extended
async def test_what_landed_is_told_while_others_are_at_work_once_it_has_gathered(bench: Bench) -> None:
    ended = await bench.run(
        plans("root", {"key": "quick"}, {"key": "long"}),
        *task("quick"),
        *slow("long", 3),
        plans("root", {"key": "more", "depends_on": ["quick"]}),
        *task("more"),
        *[uses("planner", "root", "wait", reason="long is not over")] * 3,
        planner_ends(),
        judges(),
        plan={"debounce_s": 0.05},
    )
    tasks = ended.state.tasks
    assert [status(ended, name) for name in ("quick", "more", "long")] == [TaskStatus.MERGED] * 3
    assert tasks[TaskId("more")].end_number < tasks[TaskId("long")].end_number


async def test_a_slice_without_rounds_left_is_unfinished_and_what_depends_on_it_does_not_begin(bench: Bench) -> None:
    slice_plans = [plans("slice", {"key": f"try{number}"}) for number in range(2)]
    for number in range(2):
        name = f"slice/try{number}"
        slice_plans += [edits(name, "calc.py", "    return a + b\n", "    return a - b\n"), worker_ends(name)]
    ended = await bench.run(
        plans("root", {"key": "slice", "kind": "branch"}, {"key": "after", "depends_on": ["slice"]}),
        *slice_plans,
        planner_ends(),
        run=ONE_TRY,
        plan={"max_rounds": 2},
    )
    slice_state = ended.state.tasks[TaskId("slice")]
    assert (slice_state.status, slice_state.cause) == (TaskStatus.UNFINISHED, EndCause.OUT_OF_ROUNDS)
    assert (status(ended, "after"), ended.state.tasks[TaskId("after")].attempts) == (TaskStatus.CANCELLED, ())


async def test_rounds_in_which_something_landed_are_not_counted(bench: Bench) -> None:
    steps: list[ScriptedReply] = []
    for name in ("a", "b", "c"):
        steps += [plans("root", {"key": name}), *task(name)]
    ended = await bench.run(*steps, planner_ends(), judges(), plan={"max_rounds": 1})
    assert (ended.exit_code, status(ended, "c"), status(ended, "root")) == (0, TaskStatus.MERGED, TaskStatus.DONE)


@pytest.mark.extended
async def test_a_planner_may_hear_of_each_failure_by_itself_without_running_out_of_rounds(bench: Bench) -> None:
    bad: list[ScriptedReply] = []
    drafts = []
    for number in range(3):
        name = f"bad{number}"
        first = edits(name, "calc.py", "    return a + b\n", "    return a - b\n")
        bad += [first.model_copy(update={"delay_s": 0.7 * number}), worker_ends(name)]
        drafts.append({"key": name})
    ended = await bench.run(
        plans("root", *drafts, {"key": "long"}),
        *bad,
        *slow("long", 5),
        *[uses("planner", "root", "wait", reason="long may do it")] * 3,
        planner_ends(),
        judges(),
        plan={"max_rounds": 2},
        run=ONE_TRY,
    )
    assert (ended.exit_code, status(ended, "root")) == (0, TaskStatus.DONE)


@pytest.mark.extended
async def test_slices_that_plan_one_file_get_an_order_and_a_question_has_one_owner(bench: Bench) -> None:
    shared = {"paths": ["shared.txt"]}
    ended = await bench.run(
        plans("root", {"key": "one", "kind": "branch"}, {"key": "two", "kind": "branch"}),
        plans("one", {"key": "a", "decisions": ["the format"], **shared}),
        *slow("one/a"),
        planner_ends("one"),
        plans("two", {"key": "b", "decisions": ["the format"], **shared}).model_copy(update={"delay_s": 1.0}),
        plans("two", {"key": "b", **shared}),
        *task("two/b"),
        planner_ends("two"),
        planner_ends(),
        judges(),
    )
    assert ended.exit_code == 0, ended.error
    (refused,) = [one.problems for one in events(ended) if one.kind == "plan.refused"]  # type: ignore[attr-defined]
    assert refused == ("task 'b' owns the decision 'the format', which one/a (at work) owns: go by what that decides",)
    assert ended.state.tasks[TaskId("two/b")].spec.after == ("one/a",)
    assert place(ended, AttemptStarted, "two/b") > place(ended, AttemptEnded, "one/a")
    assert not ended.state.ejections
